// Parses types, dims and attribute values of the text form, for parse.cpp.
#pragma once

#include "core/ir/attrs.h"
#include "core/module/module.h"
#include "core/module/scanner.h"

#include <type_traits>
#include <unordered_map>

namespace kiln::module {

class ValueParser {
 public:
  explicit ValueParser(Scanner& scan) : scan_(scan) {}

  /// A declaration such as `symbol x.0~2 "x.0"`, after the first word.
  void symbol_line();
  /// The definition of a dim's operation such as `dim #0 max(0,x.0-1)`, after the first word.
  void dim_line();
  /// A large constant such as `blob 0 4100 { .. }`, after the first word.
  void blob_lines();

  ir::Dim dim();
  ir::Type type();
  /// One or more types, separated by commas.
  ir::Types types();

  void get(std::int64_t& value) { value = scan_.integer("an integer"); }
  void get(bool& value);
  /// Enumerations are integers in the text; type rules reject unknown ones.
  template <class Enum>
    requires std::is_enum_v<Enum>
  void get(Enum& value) {
    value = static_cast<Enum>(scan_.integer("an integer"));
  }
  void get(DType& value);
  void get(std::string& value) { value = scan_.quoted(); }
  void get(ir::Dim& value) { value = dim(); }
  void get(ir::Type& value) { value = type(); }
  template <class Item>
  void get(std::vector<Item>& items) {
    scan_.expect('[');
    if (scan_.take(']')) return;
    do {
      if (items.size() == kMaxListItems) scan_.fail("a list has too many items");
      Item item{};
      get(item);
      items.push_back(std::move(item));
    } while (scan_.take(','));
    scan_.expect(']');
  }

  /// Parses the elements of a constant.
  ir::ConstantData data(DType dtype);
  /// Skips the elements of a constant, whose dtype is not known yet: its type comes after them.
  void skip_data();

 private:
  static constexpr std::size_t kMaxListItems = 65536;

  ir::Dim term(std::size_t depth);
  ir::Dim factor(std::size_t depth);
  ir::Dim call(std::string_view name, std::size_t position, std::size_t depth);
  ir::Dim dim(std::size_t depth);
  ir::Dim symbol(std::string_view word, std::size_t position) const;

  Scanner& scan_;
  std::unordered_map<std::string, ir::Dim> symbols_;
  ir::Dims operations_;  // of dims, by number
  std::vector<std::shared_ptr<const std::vector<std::byte>>> blobs_;
};

}  // namespace kiln::module
