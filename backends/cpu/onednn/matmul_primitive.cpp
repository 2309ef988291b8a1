// Describes the operands of a matmul to oneDNN.
#include "backends/cpu/onednn/matmul_primitive.h"

namespace kiln::cpu {
namespace {

Layout layout(std::int64_t rows, std::int64_t columns, const DenseOperand& operand) {
  std::vector<std::int64_t> strides{operand.leading, 1};
  if (operand.transposed) strides = {1, operand.leading};
  return Layout({rows, columns}, strides);
}

void* writable(const float* buffer) { return const_cast<float*>(buffer); }

}  // namespace

MatmulPrimitive::MatmulPrimitive(const DenseMatmul& p, bool bias) : bias_(bias) {
  MatmulLayouts all{layout(p.m, p.k, p.lhs), layout(p.k, p.n, p.rhs), layout(p.m, p.n, p.result),
                    nullptr};
  if (bias) all.bias = std::make_unique<Layout>(layout(1, p.n, {false, p.n}));
  const auto desc = describe_matmul(all);
  implementation_ = implementation_of(desc);
  std::vector<RunnerArgument> arguments;
  arguments.push_back({DNNL_ARG_SRC, std::move(all.lhs)});
  arguments.push_back({DNNL_ARG_WEIGHTS, std::move(all.rhs)});
  arguments.push_back({DNNL_ARG_DST, std::move(all.result)});
  if (bias) arguments.push_back({DNNL_ARG_BIAS, std::move(*all.bias)});
  runner_ = std::make_unique<Runner>(desc, std::move(arguments));
}

int MatmulPrimitive::run(const float* lhs, const float* rhs, const float* bias, float* result,
                         void* scratch) const noexcept {
  const Runner::Buffers buffers{writable(lhs), writable(rhs), result,
                                bias_ ? writable(bias) : nullptr};
  return runner_->run(buffers, scratch);
}

}  // namespace kiln::cpu
