// Writes the length before each list, so that no two kernels give the same bytes. Structured
// bindings name each member: a new member does not compile until it is handled.
#include "backends/codegen/kernel/kernel_key.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kiln::codegen {
namespace {

class KeyWriter {
 public:
  KeyWriter(const Kernel& kernel, bool with_values) : kernel_(kernel), with_values_(with_values) {}

  std::string run() {
    const auto& [name, comes_from, axes, outer, vector_axis, part_multiple, operands, accesses,
                 expressions, stages, sizes] = kernel_;
    add(outer);
    add(vector_axis);
    add(part_multiple);
    add(sizes.size());  // code knows a dynamic size by its index
    list(axes, [this](const ir::Dim& dim) { add(dim); });
    list(operands, [this](const Operand& x) { add(x); });
    list(accesses, [this](const Access& x) { add(x); });
    list(expressions, [this](const Expression& x) { add(x); });
    list(stages, [this](const Stage& x) { add(x); });
    return std::move(bytes_);
  }

 private:
  template <class Value>
    requires(std::is_integral_v<Value> || std::is_enum_v<Value>)
  void add(Value value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class Thing>
  void add(Id<Thing> id) {
    add(id.number);
  }
  void add(const ir::Dim& dim) {
    const int number = size_argument(kernel_, dim);
    add(number);
    if (number >= 0) return;
    const std::int64_t value = dim.value();
    const bool is_small = value >= -1 && value <= 1;
    add(is_small);
    if (with_values_ || is_small) add(value);
  }
  void add(const Operand& x) {
    const auto& [name, dtype, read, written] = x;
    add(dtype);
    add(read);
    add(written);
  }
  void add(const Access& x) {
    const auto& [operand, offset, strides, dynamic, dynamic_stride, dynamic_limit, when] = x;
    add(operand);
    add(offset);
    list(strides, [this](const ir::Dim& stride) { add(stride); });
    add(dynamic);
    add(dynamic_stride);
    add(dynamic_limit);
    add(when);
  }
  void add(const Expression& x) {
    const auto& [kind, dtype, op, number, access, stage, arguments, bits, seed, stream] = x;
    add(kind);
    add(dtype);
    add(op);
    add(number);
    add(access);
    add(stage);
    for (const ExpressionId argument : arguments) add(argument);
    if (with_values_ || !is_code_parameter(x)) add(bits);
    add(seed);
    add(stream);
  }
  void add(const Stage& x) {
    const auto& [kind, inner, combiner, value, stores] = x;
    add(kind);
    add(inner);
    add(combiner);
    add(value);
    list(stores, [this](const Store& store) { add(store); });
  }
  void add(const Store& x) {
    const auto& [access, value, accumulate] = x;
    add(access);
    add(value);
    add(accumulate);
  }
  template <class Items, class AddItem>
  void list(const Items& items, const AddItem& add_item) {
    add(items.size());
    for (const auto& item : items) add_item(item);
  }

  const Kernel& kernel_;
  const bool with_values_;
  std::string bytes_;
};

}  // namespace

std::string key_of(const Kernel& kernel) { return KeyWriter(kernel, true).run(); }

std::string parametric_key_of(const Kernel& kernel) {
  return kernel.sizes.empty() ? KeyWriter(kernel, false).run() : std::string();
}

bool is_code_parameter(const Expression& constant) {
  if (constant.kind != ExpressionKind::Constant || constant.dtype != DType::Float32) return false;
  const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits));
  return value >= 3 && value <= 0x1p24F;
}

}  // namespace kiln::codegen
