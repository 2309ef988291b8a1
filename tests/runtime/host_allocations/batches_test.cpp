// Tests that an allocation that fails on the thread of a loop over batches is the loop's error.
#include "tests/support/catch.h"
#include "tests/runtime/host_allocations/counted.h"

#include <kiln/train.h>

using namespace kiln;
using allocations_test::reject_larger;

TEST_CASE("memory exhaustion: batches that are gathered on a thread") {
  // The memory of large arrays does not come from malloc.
  const Array large = Array::zeros({8, 1 << 20}, DType::UInt8);
  const Array small = Array::zeros({8, 40 << 10}, DType::UInt8);
  const Batches batches({large, small}, {.size = 1, .shuffle = true});
  int count = 0;
  std::string message;
  BatchIterator loop = batches.epoch(0).begin();
  reject_larger(20 << 10);
  try {
    for (; loop != std::default_sentinel; ++loop) ++count;
  } catch (const OutOfMemory& error) {
    message = error.what();
  }
  reject_larger(0);
  CHECK(count <= 2);  // the second batch may have been allocated before
  CHECK(message.starts_with("Batches::epoch: no memory for 40960 bytes of uint8[1,40960] ["));
  CHECK(loop == std::default_sentinel);
  count = 0;
  for (const auto& batch : batches.epoch(0)) count += batch[1].dims()[1] == 40 << 10;
  CHECK(count == 8);
}
