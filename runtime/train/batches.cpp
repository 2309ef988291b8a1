// Batches: divides rows into batches, and gathers the next one while the loop's body runs.
#include <kiln/batches.h>
#include <kiln/error.h>
#include <kiln/metrics.h>
#include <kiln/named_call.h>

#include "core/types/text.h"
#include "runtime/train/progress_line.h"
#include "runtime/train/row_order.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <system_error>
#include <utility>

namespace kiln {

struct Batches::Data {
  std::vector<Array> arrays;
  BatchesOptions options;
  std::int64_t all_rows = 0;  // of all shards
  std::int64_t rows = 0;      // of this shard
  std::int64_t count = 0;     // batches of this shard in an epoch
};

struct Epoch::Shared {
  std::shared_ptr<const Batches::Data> data;
  std::int64_t epoch;
  std::int64_t start;
  Where where;
  std::shared_ptr<ProgressLine> progress;
};

namespace {

using Batch = std::vector<Array>;

/// Gathering so many bytes takes about 0.15 ms; a thread starts in 0.02 to 0.1 ms.
constexpr std::size_t kMinBytesToPrefetch = 1 << 20;

std::size_t row_bytes(const Array& array) {
  return array.bytes() / static_cast<std::size_t>(array.dims()[0]);
}

std::vector<std::int64_t> dims_of_batch(const Array& array, std::int64_t rows) {
  std::vector<std::int64_t> dims(array.dims().begin(), array.dims().end());
  dims[0] = rows;
  return dims;
}

const std::byte* row_of(const Array& array, std::int64_t row) {
  return static_cast<const std::byte*>(array.data()) +
         static_cast<std::size_t>(row) * row_bytes(array);
}

Array copy_rows(const Array& array, std::int64_t first, std::int64_t last) {
  return Array::copy_of(row_of(array, first), dims_of_batch(array, last - first), array.dtype());
}

/// Returns the rows `order[first]`, ..., `order[last - 1]` of the array.
Array gather_rows(const Array& array, const std::vector<std::int64_t>& order, std::int64_t first,
                  std::int64_t last) {
  Array batch = Array::zeros(dims_of_batch(array, last - first), array.dtype());
  const std::size_t bytes = row_bytes(array);
  if (bytes == 0) return batch;
  auto* to = static_cast<std::byte*>(batch.data());
  for (std::int64_t i = first; i < last; ++i, to += bytes) {
    std::memcpy(to, row_of(array, order[static_cast<std::size_t>(i)]), bytes);
  }
  return batch;
}

/// Returns the rows of this shard in the order of the epoch; an empty list for 0, 1, 2, ...
std::vector<std::int64_t> order_of(const Batches::Data& data, std::int64_t epoch) {
  const Shard& shard = data.options.shard;
  if (!data.options.shuffle && shard.count == 1) return {};
  std::vector<std::int64_t> all;
  if (data.options.shuffle) {
    const std::int64_t seed = data.options.seed;
    all = shuffled_rows(data.all_rows, static_cast<std::uint64_t>(seed),
                        static_cast<std::uint64_t>(epoch));
    if (shard.count == 1) return all;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(data.rows));
  std::int64_t position = shard.index;
  for (std::int64_t& row : order) {
    row = all.empty() ? position : all[static_cast<std::size_t>(position)];
    position += shard.count;
  }
  return order;
}

void require_array(const std::vector<Array>& arrays, std::size_t i, Where where) {
  const auto fail = [&](const std::string& reason) {
    throw ValueError("Batches", "arrays", text("arrays[", i, "] ", reason), where);
  };
  if (arrays[i].rank() == 0) fail("is a scalar: it has no rows");
  const std::int64_t rows = arrays[i].dims()[0], first = arrays[0].dims()[0];
  if (rows != first) fail(text("has ", rows, " rows, arrays[0] has ", first));
  if (rows == 0) fail("has no rows");
}

void require_options(const Batches::Data& data, Where where) {
  const BatchesOptions& options = data.options;
  const Shard& shard = options.shard;
  if (options.size < 1) {
    throw ValueError("Batches", "size", text("size ", options.size, " is below 1"), where);
  }
  if (shard.count < 1 || shard.index < 0 || shard.index >= shard.count) {
    throw ValueError("Batches", "shard",
                     text("shard ", shard.index, " of ", shard.count, " is out of range"), where);
  }
  if (data.all_rows < shard.count) {
    throw ValueError("Batches", "shard",
                     text(data.all_rows, " rows are fewer than ", shard.count, " shards"), where);
  }
  const std::int64_t rows = data.all_rows / shard.count;
  if (options.drop_last && rows < options.size) {
    throw ValueError(
        "Batches", "drop_last",
        text("drop_last leaves no batch of size ", options.size, " of ", rows, " rows"), where);
  }
}

}  // namespace

/// Gathers batches in the order of one epoch. A gathered batch of the next number may be under way
/// on a thread, which reads members that do not change after construction.
struct BatchIterator::Loop {
  explicit Loop(std::shared_ptr<const Epoch::Shared> epoch)
      : shared(std::move(epoch)),
        order(order_of(*shared->data, shared->epoch)),
        number(shared->start) {
    if (!is_over()) batch = gather(number);
    prefetch();
    shared->progress->draw(number);
  }
  ~Loop() {
    shared->progress->end();
    // A future waits for its thread, which a child of fork() does not have: there it is leaked.
    if (is_of_parent()) static_cast<void>(ahead.release());
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Where where() const { return shared->where; }
  bool is_over() const { return number >= shared->data->count; }

  void advance() {
    if (is_over()) return;
    batch.clear();
    const std::int64_t next = number + 1;
    number = shared->data->count;  // the end, if gathering throws
    if (next < number) {
      batch = take(next);
      number = next;
    }
    shared->progress->draw(next);
    if (is_over()) return shared->progress->end();
    prefetch();
  }

 private:
  Batch gather(std::int64_t batch_number) const {
    const Batches::Data& data = *shared->data;
    const std::int64_t size = std::min<std::int64_t>(data.options.size, data.rows);
    const std::int64_t first = batch_number * size, last = std::min(first + size, data.rows);
    return named_call("Batches::epoch", shared->where, [&] {
      Batch gathered;
      for (const Array& array : data.arrays) {
        gathered.push_back(order.empty() ? copy_rows(array, first, last)
                                         : gather_rows(array, order, first, last));
      }
      return gathered;
    });
  }

  Batch take(std::int64_t batch_number) {
    if (!ahead || is_of_parent()) return gather(batch_number);
    return std::exchange(ahead, nullptr)->get();
  }

  /// Starts gathering the next batch on a thread, if there is one and it is large.
  void prefetch() {
    const std::int64_t next = number + 1;
    if (ahead || !shared->data->options.prefetch || next >= shared->data->count) return;
    std::size_t bytes = 0;
    for (const Array& array : batch) bytes += array.bytes();
    if (bytes < kMinBytesToPrefetch) return;
    try {
      ahead = std::make_unique<std::future<Batch>>(
          std::async(std::launch::async, [this, next] { return gather(next); }));
      process = getpid();
    } catch (const std::system_error&) {
      // No thread can be started: take() gathers the batch.
    } catch (const std::bad_alloc&) {
    }
  }

  /// Whether the thread of `ahead` is one of the process that this one was forked from.
  bool is_of_parent() const { return ahead && process != getpid(); }

  const std::shared_ptr<const Epoch::Shared> shared;
  const std::vector<std::int64_t> order;  // empty: 0, 1, 2, ...
  std::int64_t number;  // of `batch`

 public:
  Batch batch;

 private:
  pid_t process = 0;  // that has the thread of `ahead`
  std::unique_ptr<std::future<Batch>> ahead;  // the next batch; null: gathered when it is taken
};

const std::vector<Array>& BatchIterator::operator*() const { return loop_->batch; }

BatchIterator& BatchIterator::operator++() {
  named_call("Batches::epoch", loop_->where(), [&] { loop_->advance(); });
  return *this;
}

bool BatchIterator::operator==(std::default_sentinel_t) const { return loop_->is_over(); }

BatchIterator Epoch::begin() const {
  return named_call("Batches::epoch", shared_->where,
                    [&] { return BatchIterator(std::make_shared<BatchIterator::Loop>(shared_)); });
}

std::int64_t Epoch::size() const { return shared_->data->count - shared_->start; }

void Epoch::show(const StringArgument& name, double value) const {
  named_call("Epoch::show", shared_->where,
             [&] { shared_->progress->show(name, [value] { return value; }); });
}

void Epoch::show(const StringArgument& name, const Metric& metric) const {
  named_call("Epoch::show", shared_->where, [&] {
    shared_->progress->show(name, [metric, where = shared_->where] { return metric.value(where); });
  });
}

Batches::Batches(std::vector<Array> arrays, const BatchesOptions& options, Where where) {
  data_ = named_call("Batches", where, [&] {
    if (arrays.empty()) throw ValueError("Batches", "arrays", "the list of arrays is empty", where);
    for (std::size_t i = 0; i < arrays.size(); ++i) require_array(arrays, i, where);
    Data data{std::move(arrays), options};
    data.all_rows = data.arrays[0].dims()[0];
    require_options(data, where);
    data.rows = data.all_rows / options.shard.count;
    data.count = data.rows / options.size;
    if (!options.drop_last && data.rows % options.size != 0) ++data.count;
    return std::make_shared<const Data>(std::move(data));
  });
}

Epoch Batches::epoch(WholeNumber epoch, const EpochOptions& options, Where where) const {
  return named_call("Batches::epoch", where, [&] {
    if (epoch < 0) {
      throw ValueError("Batches::epoch", "epoch", text("epoch ", epoch, " is negative"), where);
    }
    if (options.start < 0 || options.start > data_->count) {
      throw ValueError("Batches::epoch", "start",
                       text("start ", options.start, " is outside [0, ", data_->count, "]"), where);
    }
    auto progress = std::make_shared<ProgressLine>(options.progress, data_->count);
    return Epoch(std::make_shared<const Epoch::Shared>(
        Epoch::Shared{data_, epoch, options.start, where, std::move(progress)}));
  });
}

std::int64_t Batches::batches_per_epoch() const { return data_->count; }
std::int64_t Batches::rows_per_epoch() const { return data_->rows; }

}  // namespace kiln
