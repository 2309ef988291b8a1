// Sums over the ranks that a launcher started, beside MPI_Allreduce of the same library.
#include "tools/kiln/bench/bench.h"
#include "tools/kiln/bench/mpi_allreduce.h"
#include "tools/kiln/bench/team.h"

#include "runtime/distributed/cost_model.h"
#include "runtime/distributed/group.h"
#include "runtime/distributed/levels.h"

#include <kiln/create.h>
#include <kiln/distributed.h>
#include <kiln/function.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace kiln::bench {
namespace {

namespace internal = runtime::distributed;

/// The median of the seconds of calls, of which the first are not counted.
double median_seconds(int calls, const std::function<void()>& call) {
  std::vector<double> seconds;
  for (int i = 0; i < calls + 3; ++i) {
    const double begin = seconds_now();
    call();
    if (i >= 3) seconds.push_back(seconds_now() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + calls / 2, seconds.end());
  return seconds[static_cast<std::size_t>(calls) / 2];
}

double kiln_seconds(std::int64_t count, int calls) {
  const Tensor x = placeholder({.shape = {count}});
  const Function sum = function({x}, {distributed::all_reduce(x)}, {.name = "all_reduce"});
  const std::vector<Array> input{Array::full({count}, 1)};
  return median_seconds(calls, [&] { sum(input); });
}

double mpi_seconds(const MpiAllreduce& sum, internal::Group& group, std::int64_t count, int calls) {
  const std::vector<float> from(static_cast<std::size_t>(count), 1);
  std::vector<float> to(from.size());
  double seconds = 0;
  const internal::Operation operation(internal::HeadKind::Barrier, "MPI_Allreduce", {});
  group.run(operation, [&](internal::Channel&) {
    seconds = median_seconds(calls, [&] { sum(from.data(), to.data(), from.size()); });
  });
  return seconds;
}

}  // namespace

void run_ranks(const Options& options) {
  const auto world = distributed::init();
  internal::Group& group = world.impl();
  const MpiAllreduce mpi(group.place().library);
  if (world.is_root()) {
    std::printf("%lld ranks, %s\n", static_cast<long long>(world.size()),
                group.place().library.c_str());
    std::printf("%12s  %10s  %10s  %6s  %8s  %12s\n", "bytes", "kiln ms", "MPI ms", "ratio",
                "messages", "bytes sent");
  }
  const auto levels = internal::level_sizes(group.place().size, group.place().local_size);
  for (const std::int64_t bytes : {1 << 10, 1 << 20, options.tiny ? 1 << 20 : 100 << 20}) {
    const std::int64_t count = bytes / 4;
    const int calls = bytes > (1 << 20) ? 9 : 101;
    const double own = kiln_seconds(count, calls);
    const double other = mpi.is_available() ? mpi_seconds(mpi, group, count, calls) : 0;
    const internal::TransferCount sent =
        internal::all_reduce_work(
            levels, {DType::Float32, internal::Reduction::Sum, static_cast<std::size_t>(bytes)})
            .sent();
    if (!world.is_root()) continue;
    std::printf("%12lld  %10.3f  ", static_cast<long long>(bytes), own * 1e3);
    if (mpi.is_available()) {
      std::printf("%10.3f  %6.2f", other * 1e3, own / other);
    } else {
      std::printf("%10s  %6s", "-", "-");
    }
    std::printf("  %8zu  %12zu\n", sent.messages, sent.bytes);
  }
}

}  // namespace kiln::bench
