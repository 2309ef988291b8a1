// Batches: minibatches of host arrays for training. The project's own; Keras hides its batches in
// Model.fit.
#pragma once

#include <kiln/array.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>
#include <kiln/whole_number.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

namespace kiln {

class Metric;

/// The part of the rows that one of several processes gets: rows index, index + count, ... of the
/// epoch's order.
struct Shard {
  WholeNumber index = 0;
  WholeNumber count = 1;
};

struct BatchesOptions {
  WholeNumber size = 32;    ///< rows of a batch
  Flag shuffle = false;     ///< another order in each epoch
  Seed seed = 0;            ///< of the orders; set_random_seed does not change it
  Flag drop_last = false;   ///< leaves out a last batch of fewer rows
  Flag prefetch = true;     ///< gathers the next batch on a thread while the loop's body runs
  Shard shard = {};
};

struct EpochOptions {
  WholeNumber start = 0;  ///< the number of the first batch, to resume within an epoch
  /// The title of a progress line. Unset: none. The line is written to standard output, only if
  /// that is a terminal: title, bar, number of batches, and from the second batch on the time, an
  /// estimate of the time left, and values of Epoch::show(). Text that the loop's body writes there
  /// appears behind it.
  StringArgument progress = {};
};

/// The state of one loop over an epoch; std::default_sentinel ends it. Copies share the position.
/// Threads: one at a time.
class KILN_API BatchIterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = std::vector<Array>;

  BatchIterator(const BatchIterator&) = default;  // and no move, which would leave an empty one
  BatchIterator& operator=(const BatchIterator&) = default;

  /// A batch of each array, in their order; valid until ++. Empty at the end.
  const std::vector<Array>& operator*() const;
  /// Advances to the next batch; does nothing at the end. Errors: OutOfMemory, also of the thread
  /// that gathered the batch, after which the loop is at its end.
  BatchIterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const;

  struct Loop;
  explicit BatchIterator(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

 private:
  std::shared_ptr<Loop> loop_;
};

/// The batches of one epoch, for a range-based for. It keeps what it needs of its Batches alive.
/// Copies and loops share its progress line.
class KILN_API Epoch {
 public:
  Epoch(const Epoch& other) = default;  // and no move, which would leave an empty one
  Epoch& operator=(const Epoch& other) = default;

  /// Starts a loop at the first batch. Errors: OutOfMemory.
  BatchIterator begin() const;
  std::default_sentinel_t end() const { return {}; }
  /// The number of batches from the first one on.
  std::int64_t size() const;
  /// Sets a value that the progress line shows, named `name`, from its next change on. Threads: as
  /// the loop.
  void show(const StringArgument& name, double value) const;
  /// The same for a metric's value, which is read when the line is drawn, at most 20 times a second
  /// and only on a terminal. Call it once, before the loop. Errors of the loop: those of
  /// Metric::value().
  void show(const StringArgument& name, const Metric& metric) const;

  struct Shared;
  explicit Epoch(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}

 private:
  std::shared_ptr<const Shared> shared_;
};

/// Divides the rows of host arrays into batches, the same rows of each. A row is an index of axis
/// 0. Every dtype. Copies share the arrays.
///
/// The rows of epoch e are in the order 0, 1, ..., unless shuffled: then by Fisher and Yates, for
/// i = rows - 1, ..., 1 the rows at i and j are swapped. j = r % (i + 1), where r is the next draw
/// that is at least 2^64 % (i + 1), so that all j are equally likely. Draws are SplitMix64's
/// (Steele, Lea and Flood 2014) from the state mix(seed) + e, where mix(s) is the first draw from
/// the state s. The order is thus the same on every machine, and after a resume.
///
/// Each shard gets rows / shard.count rows of that order, rounded down: the batches of all shards
/// agree in number and sizes, and the last rows % shard.count rows are left out. Their batches of
/// one number are together the rows of a single process' batch of shard.count times the size.
///
/// Threads: distinct loops may run concurrently, those of one Epoch only without a progress line. A
/// loop has at most one thread of its own, which ends with its iterator; batches below 1 MiB are
/// gathered without, as starting it would cost more. After fork() a loop goes on in the child,
/// without a thread.
class KILN_API Batches {
 public:
  /// arrays: tensors with equal sizes of axis 0. Arrays whose elements were written through data()
  /// or as() are copied, unless they are moved in with a std::vector.
  /// Errors: ValueError for no array, a scalar, no rows, different numbers of rows, a size below 1,
  /// a shard that is out of range, fewer rows than shards, and fewer rows than `size` with
  /// drop_last.
  explicit Batches(std::vector<Array> arrays, const BatchesOptions& options = {},
                   Where where = Where::here());
  Batches(const Batches& other) = default;  // and no move, which would leave an empty one
  Batches& operator=(const Batches& other) = default;

  /// Returns the batches of epoch number `epoch`, which selects the order of shuffled rows.
  /// Errors: ValueError for an epoch below 0 and a start outside [0, batches_per_epoch()].
  [[nodiscard]] Epoch epoch(WholeNumber epoch, const EpochOptions& options = {},
                            Where where = Where::here()) const;
  /// The number of batches of an epoch, of this shard.
  std::int64_t batches_per_epoch() const;
  /// The number of rows of an epoch, of this shard.
  std::int64_t rows_per_epoch() const;

  struct Data;

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace kiln
