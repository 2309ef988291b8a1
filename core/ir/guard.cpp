// Compares and evaluates guards and formats their errors.
#include "core/ir/guard.h"

#include "core/types/text.h"

namespace kiln::ir {

bool Guard::operator==(const Guard& other) const {
  return kind == other.kind && left == other.left && right == other.right &&
         message == other.message;
}

bool Guard::holds(std::int64_t left_value, std::int64_t right_value) const {
  return kind == Kind::Equal ? left_value == right_value : left_value <= right_value;
}

std::string Guard::failure(std::int64_t left_value, std::int64_t right_value,
                           const std::string& left_name, const std::string& right_name) const {
  std::string values;
  const auto add = [&](const Dim& dim, const std::string& name, std::int64_t value) {
    if (dim.is_static()) return;
    const std::string shown = name.empty() ? text(dim) : name;
    values += text(values.empty() ? "" : " and ", shown, " is ", value);
  };
  add(left, left_name, left_value);
  add(right, right_name, right_value);
  // A guard of op Broadcast has the message "size n of axis 0 is not m". If one of the sizes is 1
  // in this call, the user may expect that it broadcasts.
  const bool is_one =
      (left_value == 1 && !left.is_static()) || (right_value == 1 && !right.is_static());
  const std::size_t axis = message.find(" of axis ");
  const bool is_broadcast = axis != message.npos && message.find(" is not ", axis) != message.npos;
  const char* const hint =
      "; unknown sizes do not broadcast: where one should, declare it as 1 (of an ONNX model by "
      "the option dims) or use pattern_broadcast";
  return text(message, "; in this call ", values, is_one && is_broadcast ? hint : "");
}

std::string line_of(const Guard& guard) {
  const Where where = guard.origin.where;
  return where.known() ? text(" (at ", where.file, ":", where.line, ")") : "";
}

}  // namespace kiln::ir
