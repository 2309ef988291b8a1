// A stage without inner axes stores the results.
#include "tests/backends/codegen/combiner_kernels.h"

#include "core/types/text.h"

namespace kiln::test {

using namespace codegen;

Memory zeros(DType dtype, std::int64_t count) {
  return {std::vector<std::byte>(static_cast<std::size_t>(count) * dtype_bytes(dtype))};
}

Kernel every_combiner(DType dtype, std::int64_t outer, const ir::Dim& inner, bool is_columns) {
  KernelMaker k(text(is_columns ? "columns" : "rows", "_of_", dtype_name(dtype)), {outer, inner},
                1);
  const OperandId in = k.input(dtype);
  const ExpressionId x = k.load(is_columns ? k.access(in, {1, outer}) : k.access(in, {inner, 1}));
  std::vector<Store> stores;
  for (const Combiner combiner :
       {Combiner::Max, Combiner::Sum, Combiner::ArgMax, Combiner::Min, Combiner::Prod}) {
    if (dtype == DType::Bool && (combiner == Combiner::Sum || combiner == Combiner::Prod)) continue;
    const ExpressionId result = k.result(k.reduce(combiner, x));
    const DType result_dtype = k.kernel.expressions[result].dtype;
    stores.push_back({k.access(k.output(result_dtype), {1, 0}), result});
  }
  k.map(stores, false);
  return k.kernel;
}

KernelCall call_of_combiners(const Kernel& kernel, Memory x, std::int64_t outer) {
  KernelCall call{{std::move(x)}, {}, 0, outer};
  for (const OperandId i : kernel.operands.ids_after(OperandId(0))) {
    call.operands.push_back(zeros(kernel.operands[i].dtype, outer));
  }
  return call;
}

}  // namespace kiln::test
