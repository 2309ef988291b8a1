// Instantiates the formulas of codegen/formulas for LLVM IR, and calls the C library where there is
// none.
#include "backends/cpu/llvm/scalar/vector_math.h"

#include "backends/codegen/formulas/atan.h"
#include "backends/codegen/formulas/erf.h"
#include "backends/codegen/formulas/exp.h"
#include "backends/codegen/formulas/log.h"
#include "backends/codegen/formulas/pow.h"
#include "backends/codegen/formulas/trig.h"
#include "backends/cpu/llvm/scalar/float_lanes.h"
#include "backends/cpu/llvm/scalar/vector_function.h"

#include <cmath>

namespace kiln::cpu {
namespace {

namespace formulas = codegen::formulas;
using llvm::Value;

bool is_double(Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }
FloatLanes lanes_of(const Emit& e, Value* x) { return {e, x->getType()}; }

/// Emits the body of sin or cos: the formula, and the C library if a lane is beyond the formula's
/// range.
void emit_trig(const Emit& e, Value* x, bool is_cos) {
  const FloatLanes f = lanes_of(e, x);
  Value* y = formulas::sin_or_cos(f, x, is_cos);
  Value* far = e.b.CreateFCmpOGT(f.magnitude(x), f.real(formulas::kTrigLimit));
  Value* any = x->getType()->isVectorTy() ? e.b.CreateOrReduce(far) : far;
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  auto* rare = llvm::BasicBlock::Create(e.b.getContext(), "rare", function);
  auto* usual = llvm::BasicBlock::Create(e.b.getContext(), "usual", function);
  e.b.CreateCondBr(any, rare, usual);
  e.b.SetInsertPoint(usual);
  e.b.CreateRet(y);
  e.b.SetInsertPoint(rare);
  const char* name = is_cos ? (is_double(x) ? "cos" : "cosf") : (is_double(x) ? "sin" : "sinf");
  e.b.CreateRet(f.choose(far, e.per_lane(name, {x}), y));
}

void emit_pow_body(const Emit& e, llvm::ArrayRef<Value*> x) {
  e.b.CreateRet(formulas::pow(lanes_of(e, x[0]), x[0], x[1]));
}

Value* without_subnormals(const Emit& e, Value* x) {
  const FloatLanes f = lanes_of(e, x);
  const double smallest = f.format.by_format(0x1p-126, 0x1p-1022);
  Value* subnormal = f.less(f.magnitude(x), f.real(smallest));
  return f.choose(subnormal, f.with_sign_of(f.real(0), x), x);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

Value* emit_exp(const Emit& e, Value* x) { return formulas::exp(lanes_of(e, x), x); }
Value* emit_exp_of_nonpositive(const Emit& e, Value* x) {
  return formulas::exp_of_nonpositive(lanes_of(e, x), x);
}
Value* emit_expm1(const Emit& e, Value* x) { return formulas::expm1(lanes_of(e, x), x); }
Value* emit_tanh(const Emit& e, Value* x) { return formulas::tanh(lanes_of(e, x), x); }
Value* emit_sigmoid(const Emit& e, Value* x) { return formulas::sigmoid(lanes_of(e, x), x); }
Value* emit_erf(const Emit& e, Value* x) { return formulas::erf(lanes_of(e, x), x); }
Value* emit_atan(const Emit& e, Value* x) { return formulas::atan(lanes_of(e, x), x); }
Value* emit_log(const Emit& e, Value* x) { return formulas::log(lanes_of(e, x), x); }
Value* emit_log1p(const Emit& e, Value* x) { return formulas::log1p(lanes_of(e, x), x); }

Value* emit_sin(const Emit& e, Value* x) {
  return call_vector_function(e, "kiln_sin", {x}, [](const Emit& inside, llvm::ArrayRef<Value*> x) {
    emit_trig(inside, x[0], false);
  });
}

Value* emit_cos(const Emit& e, Value* x) {
  return call_vector_function(e, "kiln_cos", {x}, [](const Emit& inside, llvm::ArrayRef<Value*> x) {
    emit_trig(inside, x[0], true);
  });
}

Value* emit_pow(const Emit& e, Value* x, Value* y) {
  if (is_double(x)) return emit_library_call(e, "pow", {x, y});
  return call_vector_function(e, "kiln_pow", {x, y}, emit_pow_body);
}

Value* emit_library_call(const Emit& e, const char* name, llvm::ArrayRef<Value*> arguments) {
  std::vector<Value*> normal;
  for (Value* x : arguments) normal.push_back(without_subnormals(e, x));
  return without_subnormals(e, e.per_lane(name, normal));
}

std::vector<RuntimeSymbol> vector_math_symbols() {
  using UnaryFloat32 = float(float);
  using UnaryFloat64 = double(double);
  return {{"sinf", address<UnaryFloat32>(::sinf)},
          {"sin", address<UnaryFloat64>(::sin)},
          {"cosf", address<UnaryFloat32>(::cosf)},
          {"cos", address<UnaryFloat64>(::cos)},
          {"pow", address<double(double, double)>(::pow)}};
}

}  // namespace kiln::cpu
