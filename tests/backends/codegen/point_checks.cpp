// The names of kernels are replaced, so that all fit into one program.
#include "tests/backends/codegen/point_checks.h"

#include "core/ops/convert.h"
#include "core/types/text.h"
#include "tests/support/catch.h"

namespace kiln::test {

using namespace codegen;

Memory numbers(DType dtype, std::int64_t count, int first) {
  Memory result;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = dtype == DType::Bool ? static_cast<double>((i * 5 + first) % 3 % 2)
                                              : static_cast<double>((i * 7 + first) % 23);
    const std::vector<std::byte> bytes = ir::scalar_bytes(dtype, value);
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return result;
}

void check_runs(const std::vector<Run>& runs, const GridDescription& device,
                const std::vector<std::vector<std::int64_t>>& shifts) {
  std::vector<Kernel> kernels;
  std::vector<KernelCall> calls;
  std::vector<KernelOutcome> expected;
  for (const Run& run : runs) {
    kernels.push_back(run.kernel);
    kernels.back().name = text("k", kernels.size());
    calls.push_back(run.call);
    expected.push_back(run_interpreted(run.kernel, run.call));
  }
  for (const ThreadOrder order : kThreadOrders) {
    for (const std::vector<std::int64_t>& shift : shifts) {
      const auto found = run_as_grid(kernels, calls, order, {.shifts = shift}, device);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        INFO(print(kernels[i]) << print(schedule_grid(kernels[i], device)) << "\norder "
                               << static_cast<int>(order) << ", shift " << shift.back());
        check_equal(found[i], expected[i]);
        check_equal(run_as_parsed_grid(kernels[i], calls[i], order, {}, device), expected[i]);
      }
    }
  }
}

std::vector<std::int64_t> sizes_of(const Kernel& kernel, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : kernel.sizes) {
    sizes.push_back(ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      return std::optional<std::int64_t>(symbol.name.find("rows") == 0 ? rows : columns);
    }));
  }
  return sizes;
}

std::string schedule_of(const Kernel& kernel, const GridDescription& device) {
  return print(schedule_grid(kernel, device));
}

}  // namespace kiln::test
