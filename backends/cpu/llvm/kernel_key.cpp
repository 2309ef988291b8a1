// Every list is preceded by its length, so that no two kernels give the same bytes.
#include "backends/cpu/llvm/kernel_key.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kiln::cpu {
namespace {

using namespace codegen;

class KeyWriter {
 public:
  KeyWriter(const Kernel& kernel, bool with_numbers)
      : kernel_(kernel), with_numbers_(with_numbers) {}

  std::string run() {
    add(kernel_.outer);
    add(kernel_.vector_axis);
    list(kernel_.sizes, [&](const ir::Dim& dim) { add(dim.to_string()); });
    list(kernel_.axes, [&](const ir::Dim& dim) { add(dim); });
    list(kernel_.operands, [&](const Operand& x) { add(x); });
    list(kernel_.accesses, [&](const Access& x) { add(x); });
    list(kernel_.expressions, [&](const Expression& x) { add(x); });
    list(kernel_.stages, [&](const Stage& x) { add(x); });
    return std::move(bytes_);
  }

 private:
  template <class Value>
    requires(std::is_integral_v<Value> || std::is_enum_v<Value>)
  void add(Value value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const ir::Dim& dim) {
    const int number = size_argument(kernel_, dim);
    add(number);
    if (number >= 0) return;
    const std::int64_t value = dim.value();
    const bool is_small = value >= -1 && value <= 1;
    add(is_small);
    if (with_numbers_ || is_small) add(value);
  }
  void add(const Operand& x) {
    add(x.dtype);
    add(x.read);
    add(x.written);
  }
  void add(const Access& x) {
    add(x.operand);
    add(x.offset);
    list(x.strides, [&](const ir::Dim& stride) { add(stride); });
    add(x.dynamic);
    add(x.dynamic_stride);
    add(x.dynamic_limit);
    add(x.when);
  }
  void add(const Expression& x) {
    add(x.kind);
    add(x.dtype);
    add(x.op);
    add(x.number);
    for (const int argument : x.arguments) add(argument);
    if (with_numbers_ || !is_number(x)) add(x.bits);
    add(x.seed);
    add(x.stream);
  }
  void add(const Stage& x) {
    add(x.kind);
    add(x.inner);
    add(x.combiner);
    add(x.value);
    list(x.stores, [&](const Store& store) {
      add(store.access);
      add(store.value);
      add(store.accumulate);
    });
  }
  template <class Items, class AddItem>
  void list(const Items& items, const AddItem& add_item) {
    add(items.size());
    for (const auto& item : items) add_item(item);
  }

  const Kernel& kernel_;
  const bool with_numbers_;
  std::string bytes_;
};

}  // namespace

std::string key_of(const Kernel& kernel) { return KeyWriter(kernel, true).run(); }

std::string outline_of(const Kernel& kernel) {
  return kernel.sizes.empty() ? KeyWriter(kernel, false).run() : std::string();
}

bool is_number(const Expression& constant) {
  if (constant.kind != ExpressionKind::Constant || constant.dtype != DType::Float32) return false;
  const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits));
  return value >= 3 && value <= 0x1p24F;
}

}  // namespace kiln::cpu
