// Each stage is a block with the loops of the inner axes around the expressions that it needs, in
// their order, named by their numbers.
#include "tests/codegen/kernel_text.h"

#include "tests/codegen/op_text.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <cstring>

namespace kiln::test {
namespace {

using namespace codegen;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// How values of a dtype are held; float16 and bfloat16 are floats that such a number can be.
const char* type_of(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "Bool";
    case DType::Int8: return "s8";
    case DType::Int16: return "s16";
    case DType::Int32: return "s32";
    case DType::Int64: return "s64";
    case DType::UInt8: return "u8";
    case DType::UInt16: return "u16";
    case DType::UInt32: return "u32";
    case DType::UInt64: return "u64";
    case DType::Float64: return "double";
    default: return "float";
  }
}

/// "f16" or "bf16"; null for types that are held as they are stored.
const char* half_name(DType dtype) {
  return dtype == DType::Float16 ? "f16" : dtype == DType::BFloat16 ? "bf16" : nullptr;
}

/// A subnormal float16 is a normal float.
bool flushes(DType dtype) { return is_float(dtype) && dtype != DType::Float16; }

std::string load(DType dtype, const std::string& place) {
  const char* half = half_name(dtype);
  return half ? text(half, "_value(load<u16>(", place, "))")
              : text("load<", type_of(dtype), ">(", place, ")");
}

std::string store(DType dtype, const std::string& place, const std::string& value) {
  const char* half = half_name(dtype);
  return half ? text("store<u16>(", place, ", ", half, "_bits(", value, "));")
              : text("store<", type_of(dtype), ">(", place, ", ", value, ");");
}

std::string constant(DType dtype, std::uint64_t bits) {
  const char* half = half_name(dtype);
  if (half) return text(half, "_value(", bits & 0xffffu, "u)");
  if (dtype == DType::Float64) return text("from_bits<double>(", bits, "ull)");
  if (dtype == DType::Float32) return text("from_bits<float>(", bits & 0xffffffffu, "u)");
  return text("wrap<", type_of(dtype), ">(", bits, "ull)");
}

/// What `dtype` keeps of a result that was computed in its C++ type.
std::string kept(DType dtype, const std::string& value) {
  const char* half = half_name(dtype);
  if (half) return text("to_", half, "(", value, ")");
  return flushes(dtype) ? text("flush(", value, ")") : value;
}

/// Subnormal operands count as zeros.
std::string operand(DType dtype, const std::string& value) {
  return flushes(dtype) ? text("flush(", value, ")") : value;
}

std::string apply(ir::Op op, DType operands, DType result, const std::vector<std::string>& x) {
  const std::string call =
      text("op_", ir::def(op).name, "<", type_of(operands), ">(", join_text(x), ")");
  return kept(result, call);
}

class Writer {
 public:
  explicit Writer(const Kernel& kernel) : kernel_(kernel) {}

  std::string write() {
    if (!kernel_.comes_from.empty()) line("// " + one_line(kernel_.comes_from));
    line(text("extern \"C\" void ", kernel_.name, "(const void*, const KernelArguments* a) {"));
    ++depth_;
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
      line(text("u8* const b", i, " = a->buffers[", i, "];"));
    }
    for (int axis = 0; axis < kernel_.outer; ++axis) loop(axis);
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s) stage(static_cast<int>(s));
    close();
    return std::move(out_);
  }

 private:
  static std::string one_line(std::string words) {
    for (char& c : words) {
      if (c == '\n' || c == '\\') c = ' ';
    }
    return words;
  }

  void line(const std::string& words) {
    out_ += std::string(at(2 * depth_), ' ') + words + "\n";
  }
  void open(const std::string& words) {
    line(words + " {");
    ++depth_;
  }
  void close(int remaining = 0) {
    while (depth_ > remaining) {
      --depth_;
      line("}");
    }
  }

  std::string size(const ir::Dim& dim) const {
    if (!dim.is_static()) return text("a->sizes[", size_argument(kernel_, dim), "]");
    return text("s64(", dim.value(), ")");
  }

  void loop(int axis) {
    const bool split = axis == 0 && kernel_.outer > 0;
    const std::string begin = split ? "a->begin" : "0";
    const std::string end = split ? "a->end" : size(kernel_.axes[at(axis)]);
    open(text("for (s64 i", axis, " = ", begin, "; i", axis, " < ", end, "; ++i", axis, ")"));
  }

  DType dtype_of(int expression) const { return kernel_.expressions[at(expression)].dtype; }

  void stage(int s) {
    const Stage& stage = kernel_.stages[at(s)];
    if (stage.kind != StageKind::Map) start(s, stage);
    const int outside = depth_;
    open("");
    if (stage.inner) {
      for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
        loop(axis);
      }
    }
    written_.assign(kernel_.expressions.size(), false);
    if (stage.kind != StageKind::Map) {
      evaluate({stage.value});
      combine(s, stage);
    }
    std::vector<int> roots;
    for (const Store& store : stage.stores) {
      roots.push_back(store.value);
      roots.push_back(kernel_.accesses[at(store.access)].dynamic);
      roots.push_back(kernel_.accesses[at(store.access)].when);
    }
    evaluate(roots);
    for (std::size_t i = 0; i < stage.stores.size(); ++i) write(stage.stores[i], i);
    close(outside);
  }

  void start(int s, const Stage& stage) {
    const DType dtype = dtype_of(stage.value);
    if (stage.combiner == Combiner::ArgMax) {
      line(text("s64 r", s, " = 0;"));
      line(text(type_of(dtype), " best", s, "{};"));
      return line(text("bool first", s, " = true;"));
    }
    line(text(type_of(dtype), " r", s, " = ",
              constant(dtype, start_bits(stage.combiner, dtype)), ";"));
  }

  void combine(int s, const Stage& stage) {
    const DType dtype = dtype_of(stage.value);
    const std::string value = operand(dtype, text("v", stage.value));
    if (stage.combiner == Combiner::ArgMax) {
      open(text("if (first", s, " || above<", type_of(dtype), ">(", value, ", best", s, "))"));
      line(text("first", s, " = false;"));
      line(text("best", s, " = ", value, ";"));
      line(text("r", s, " = i", kernel_.axes.size() - 1, ";"));
      return close(depth_ - 1);
    }
    static constexpr ir::Op kOps[] = {ir::Op::Identity, ir::Op::Add, ir::Op::Mul,
                                      ir::Op::Maximum, ir::Op::Minimum};
    const ir::Op op = kOps[static_cast<int>(stage.combiner)];
    line(text("r", s, " = ", apply(op, dtype, dtype, {text("r", s), value}), ";"));
  }

  /// Lines for the expressions that the roots need and that this stage does not have yet.
  void evaluate(const std::vector<int>& roots) {
    std::vector<bool> wanted(kernel_.expressions.size(), false);
    for (const int root : roots) {
      if (root >= 0) wanted[at(root)] = true;
    }
    for (std::size_t i = wanted.size(); i-- > 0;) {
      if (!wanted[i]) continue;
      const Expression& e = kernel_.expressions[i];
      for (const int argument : e.arguments) {
        if (argument >= 0) wanted[at(argument)] = true;
      }
      if (e.kind != ExpressionKind::Load) continue;
      const Access& access = kernel_.accesses[at(e.number)];
      for (const int other : {access.dynamic, access.when}) {
        if (other >= 0) wanted[at(other)] = true;
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i] || written_[i]) continue;
      const Expression& e = kernel_.expressions[i];
      line(text("const ", type_of(e.dtype), " v", i, " = ", value(e), ";"));
      written_[i] = true;
    }
  }

  std::string value(const Expression& e) const {
    switch (e.kind) {
      case ExpressionKind::Constant: return constant(e.dtype, e.bits);
      case ExpressionKind::AxisIndex: return text("i", e.number);
      case ExpressionKind::SizeValue: return text("a->sizes[", e.number, "]");
      case ExpressionKind::StageResult: return text("r", e.number);
      case ExpressionKind::Random: return random(e);
      case ExpressionKind::Load: return load(e);
      case ExpressionKind::Convert: return convert(e);
      case ExpressionKind::Apply: break;
    }
    const auto arity = at(ir::def(e.op).arity);
    std::vector<std::string> x;
    for (std::size_t i = 0; i < arity; ++i) x.push_back(argument(e, i));
    return apply(e.op, dtype_of(e.arguments[arity - 1]), e.dtype, x);
  }

  std::string argument(const Expression& e, std::size_t i) const {
    return operand(dtype_of(e.arguments[i]), text("v", e.arguments[i]));
  }

  std::string convert(const Expression& e) const {
    const char* half = half_name(e.dtype);
    if (half) return text("to_", half, "(half_source(", argument(e, 0), "))");
    return text("convert<", type_of(e.dtype), ">(", argument(e, 0), ")");
  }

  std::string load(const Expression& e) const {
    const std::string read = test::load(e.dtype, place(e.number));
    const std::string allowed = condition(e.number);
    if (allowed.empty()) return read;
    return text(allowed, " ? ", read, " : ", type_of(e.dtype), "(0)");
  }

  std::string random(const Expression& e) const {
    const char* half = half_name(e.dtype);
    const char* name = half ? half : e.dtype == DType::Float64 ? "f64" : "f32";
    return text("uniform_", name, "(drawn(a, ", argument(e, 0), ", ", argument(e, 1), ", ",
                static_cast<std::uint64_t>(e.seed), "ull, ", static_cast<std::uint64_t>(e.stream),
                "ull))");
  }

  std::string index(const Access& access) const {
    return text("wrap<s64>(bits(v", access.dynamic, "))");
  }
  std::string inside(int number) const {
    const Access& access = kernel_.accesses[at(number)];
    return text("inside(a, ", number, ", ", index(access), ", ", size(access.dynamic_limit), ")");
  }

  /// When the access may touch memory; empty: always. A guard that is false hides a bad index.
  std::string condition(int number) const {
    const Access& access = kernel_.accesses[at(number)];
    std::string all = access.when < 0 ? "" : text("bool(v", access.when, ")");
    if (access.dynamic >= 0) all += text(all.empty() ? "" : " && ", inside(number));
    return all;
  }

  /// "b0, element": what loads and stores take.
  std::string place(int number) const {
    const Access& access = kernel_.accesses[at(number)];
    std::string sum = size(access.offset);
    for (std::size_t axis = 0; axis < access.strides.size(); ++axis) {
      const ir::Dim& stride = access.strides[axis];
      if (stride == ir::Dim(0)) continue;
      sum += text(" + i", axis, stride.is_one() ? "" : " * " + size(stride));
    }
    if (access.dynamic >= 0) sum += text(" + ", index(access), " * ", size(access.dynamic_stride));
    return text("b", access.operand, ", ", sum);
  }

  void write(const Store& store, std::size_t number) {
    const DType dtype = dtype_of(store.value);
    const std::string place = this->place(store.access), name = text("w", number);
    const std::string allowed = condition(store.access);
    open(allowed.empty() ? "" : text("if (", allowed, ")"));
    std::string value = text("v", store.value);
    if (store.accumulate) {
      line(text("const ", type_of(dtype), " old = ", test::load(dtype, place), ";"));
      value = apply(ir::Op::Add, dtype, dtype, {operand(dtype, "old"), operand(dtype, value)});
    }
    line(test::store(dtype, place, value));
    close(depth_ - 1);
  }

  const Kernel& kernel_;
  std::string out_;
  int depth_ = 0;
  std::vector<bool> written_;  // expressions that the stage has
};

}  // namespace

std::string kernel_text(std::span<const Kernel> kernels) {
  std::string out = text_prelude();
  for (const Kernel& kernel : kernels) {
    verify(kernel);
    out += "\n" + Writer(kernel).write();
  }
  return out;
}

}  // namespace kiln::test
