// Tests that the emulation of CUDA text finds data races and accesses out of bounds.
#include "tests/support/catch.h"
#include "tests/backends/codegen/emulated_kernels.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/make_kernel.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr auto kLoad = MemoryWatch::Access::Load, kStore = MemoryWatch::Access::Store;

bool is_anywhere(const std::byte*, std::size_t) { return true; }

/// Stores x to y, then y backwards to z: a lane loads an element that another lane stored.
Kernel copy_and_reverse() {
  KernelMaker k("reverse", {1, 64}, 1);
  const OperandId in = k.input(DType::Float32), y = k.output(DType::Float32, true);
  const ExpressionId x = k.load(k.access(in, {0, 1}));
  k.map({{k.access(y, {0, 1}), x}});
  const ExpressionId last = k.load(k.access(y, {0, -1}, 63));
  k.map({{k.access(k.output(DType::Float32), {0, 1}), last}});
  return k.kernel;
}

void emulate(const Kernel& kernel, const GridSchedule& schedule, std::size_t operand_bytes) {
  std::vector<std::vector<std::byte>> operands(kernel.operands.size());
  std::vector<std::byte*> addresses;
  for (auto& bytes : operands) {
    bytes.resize(operand_bytes);
    addresses.push_back(bytes.data());
  }
  const auto is_in_bounds = [&](const std::byte* address, std::size_t bytes) {
    for (const auto& one : operands) {
      if (address >= one.data() && address + bytes <= one.data() + one.size()) return true;
    }
    return false;
  };
  CallBlock call;
  const ScheduledKernel scheduled[] = {{kernel, schedule}};
  EmulatedKernels(scheduled).run(kernel.name,
                                 {.operands = addresses.data(),
                                  .grid = launch_of(kernel, schedule, kTwoWarps,
                                                    [](const ir::Dim& dim) { return dim.value(); }),
                                  .call = &call,
                                  .is_in_bounds = is_in_bounds});
}

}  // namespace

TEST_CASE("memory watch: two threads race without a barrier of both between store and access") {
  const ThreadProgress first{.block = 0, .thread = 1};
  const struct {
    const char* name;
    ThreadProgress second;
    bool races;
  } rows[] = {
      {"the same thread", {.block = 0, .thread = 1}, false},
      {"another lane", {.block = 0, .thread = 2}, true},
      {"another warp", {.block = 0, .thread = 40, .warp = 1}, true},
      {"another block", {.block = 1, .thread = 1}, true},
      {"another lane, a barrier of the block",
       {.block = 0, .thread = 2, .block_barriers = 1},
       false},
      {"another lane, a barrier of the warp", {.block = 0, .thread = 2, .warp_barriers = 1}, false},
      {"another warp, a barrier of its own",
       {.block = 0, .thread = 40, .warp = 1, .warp_barriers = 1},
       true},
      {"another warp, a barrier of the block",
       {.block = 0, .thread = 40, .warp = 1, .block_barriers = 1},
       false},
      {"another block, a barrier of its own", {.block = 1, .thread = 1, .block_barriers = 1}, true},
  };
  const std::byte memory[4] = {};
  for (const auto& row : rows) {
    for (const auto& [before, after] : {std::pair{kStore, kStore}, std::pair{kStore, kLoad},
                                        std::pair{kLoad, kStore}, std::pair{kLoad, kLoad}}) {
      INFO(row.name << ", " << static_cast<int>(before) << ", " << static_cast<int>(after));
      const bool stores = before == kStore || after == kStore;
      MemoryWatch global(is_anywhere), shared(is_anywhere);
      CHECK(global.check_global(memory, 4, before, first));
      CHECK(global.check_global(memory + 3, 1, after, row.second));
      CHECK(global.error().empty() != (stores && row.races));
      shared.check_shared(memory, 4, before, first);
      shared.check_shared(memory + 3, 1, after, row.second);
      CHECK(shared.error().empty() != (stores && row.races));
    }
  }
}

TEST_CASE("memory watch: a store races with each of the loads before it") {
  const std::byte memory[4] = {};
  for (const std::int64_t reader : {1, 2, 40}) {
    MemoryWatch watch(is_anywhere);
    const ThreadProgress writer{.block = 0, .thread = 1};
    for (const std::int64_t thread : {reader, std::int64_t{1}}) {
      watch.check_global(memory, 4, kLoad, {.block = 0, .thread = thread, .warp = thread / 32});
    }
    watch.check_global(memory, 4, kStore, writer);
    CHECK(watch.error().empty() == (reader == 1));
  }
}

TEST_CASE("memory watch: atomic operations between barriers order the accesses of two blocks") {
  const std::byte memory[4] = {}, counter[4] = {}, other[4] = {};
  const ThreadProgress writer{.block = 0, .thread = 5};
  const ThreadProgress release{.block = 0, .thread = 0, .block_barriers = 1};
  const ThreadProgress acquire{.block = 1, .thread = 0, .block_barriers = 1};
  const ThreadProgress reader{.block = 1, .thread = 5, .block_barriers = 2};
  const struct {
    const char* name;
    ThreadProgress writer, reader;
    const std::byte* acquired;
    bool is_reversed, races;
  } rows[] = {
      {"both", writer, reader, counter, false, false},
      {"no barrier before the release",
       {.block = 0, .thread = 5, .block_barriers = 1},
       reader,
       counter,
       false,
       true},
      {"no barrier after the acquisition",
       writer,
       {.block = 1, .thread = 5, .block_barriers = 1},
       counter,
       false,
       true},
      {"another address", writer, reader, other, false, true},
      {"in the other order", writer, reader, counter, true, true},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    MemoryWatch watch(is_anywhere);
    watch.check_global(memory, 4, kStore, row.writer);
    if (row.is_reversed) watch.note_atomic(row.acquired, acquire);
    watch.note_atomic(counter, release);
    if (!row.is_reversed) watch.note_atomic(row.acquired, acquire);
    watch.check_global(memory, 4, kLoad, row.reader);
    CHECK(watch.error().empty() != row.races);
  }
}

TEST_CASE("memory watch: shared memory belongs to one block after the other") {
  const std::byte memory[4] = {};
  MemoryWatch watch(is_anywhere);
  watch.check_shared(memory, 4, kStore, {.block = 0});
  watch.begin_block();
  watch.check_shared(memory, 4, kLoad, {.block = 1});
  CHECK(watch.error().empty());
}

TEST_CASE("emulation: a missing barrier is reported") {
  const Kernel kernel = copy_and_reverse();
  GridSchedule schedule = schedule_grid(kernel, kTwoWarps);
  REQUIRE(schedule.barrier_before == std::vector{StageId(1)});
  emulate(kernel, schedule, 256);
  schedule.barrier_before.clear();
  CHECK_THROWS_WITH(emulate(kernel, schedule, 256),
                    ContainsSubstring("reverse: ") && ContainsSubstring("without a barrier"));
}

TEST_CASE("emulation: an access out of bounds is reported and skipped") {
  const Kernel kernel = copy_and_reverse();
  const GridSchedule schedule = schedule_grid(kernel, kTwoWarps);
  CHECK_THROWS_WITH(emulate(kernel, schedule, 252),
                    ContainsSubstring("4 bytes outside of every operand"));
}
