// The group of processes that a launcher started, and its parts. Read kiln/distributed.h first.
#pragma once

#include <kiln/error.h>
#include <kiln/variable.h>
#include <kiln/whole_number.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln::runtime::distributed {
class Group;
}

namespace kiln::distributed {

/// Thrown on the ranks of a group when another one fails, has left, calls something else, or does
/// not answer.
class KILN_API DistributedError : public Error {
 public:
  /// `rank`: the rank that the error is about.
  DistributedError(std::string function, std::string message, std::size_t rank, Where where = {});
  ~DistributedError() override;
  /// The rank that the error is about; this process's own where others are not known.
  std::int64_t rank() const noexcept { return rank_; }

 private:
  std::int64_t rank_ = 0;
};

/// Ranks that work together. Copies are the same group. Made by init(), world() and split().
class KILN_API Group {
 public:
  [[nodiscard]] std::int64_t rank() const;  ///< of this process, from 0
  [[nodiscard]] std::int64_t size() const;  ///< the number of ranks
  [[nodiscard]] std::int64_t local_rank() const;  ///< among the ranks of this machine
  [[nodiscard]] std::int64_t local_size() const;
  [[nodiscard]] bool is_root() const { return rank() == 0; }

  /// The rows [first, second) of n that are this rank's: all ranks' parts in order are the n rows,
  /// and their sizes differ by one at most. Errors: ValueError for a negative n.
  ///     const auto world = K::distributed::init();
  ///     world.shard(64).second;  // 64
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> shard(WholeNumber n,
                                                            Where where = Where::here()) const;
  /// The group of the ranks that give the same color, ordered by key, then by rank. A rank must not
  /// wait in one group for a rank that waits for it in another. Errors: ValueError for a negative
  /// color; DistributedError.
  ///     const auto world = K::distributed::init();
  ///     world.split(world.rank() % 2).size();  // 1
  [[nodiscard]] Group split(WholeNumber color, WholeNumber key = 0,
                            Where where = Where::here()) const;
  /// Returns once all ranks have called it. Errors: DistributedError.
  ///     K::distributed::init().barrier();
  void barrier(Where where = Where::here()) const;

  /// A move copies: it would leave an empty Group.
  Group(const Group& other) = default;
  Group& operator=(const Group& other) = default;
  explicit Group(std::shared_ptr<runtime::distributed::Group> impl);
  runtime::distributed::Group& impl() const { return *impl_; }

 private:
  std::shared_ptr<runtime::distributed::Group> impl_;
};

/// The group of all ranks, which this process leaves when the object is destroyed, or at exit. A
/// rank that leaves waits until the others leave, too, or call an operation, which is then an error
/// that says so.
class KILN_API Session : public Group {
 public:
  explicit Session(std::shared_ptr<runtime::distributed::Group> impl);
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;
  ~Session();

 private:
  std::shared_ptr<runtime::distributed::Group> session_;  // null after a move
  int exceptions_;  // in flight when it was made
};

struct InitOptions {
  /// The library that moves bytes between processes: a name, for libkilncomm_<name>.so beside
  /// libkiln.so, or an absolute path. Empty: the environment variable KILN_COMMUNICATOR, else
  /// "mpi".
  StringArgument communicator = {};
  std::map<std::string, std::string> options = {};  ///< of the communicator
  /// Seconds that a rank waits for others until it gives up; a warning comes after a minute. After
  /// that the group is broken: each use is an error, and the end of the process ends all ranks.
  WholeNumber time_limit = 1800;
};

/// Joins the group of all ranks that the launcher started; call it first, once in a process. Ranks
/// whose process's random state no set_random_seed or set_position has set take the root's, so that
/// initial values are equal; what has been drawn before may differ. Unless KILN_THREADS or
/// set_threads sets it, the number of threads becomes that of the processors available divided by
/// the ranks of this machine that share them.
/// Errors: ConfigError if the communicator cannot join the launcher's ranks; BackendError if it
/// cannot be opened; ValueError in a process that is in a group already, and for a time limit that
/// is not positive.
///     const auto world = K::distributed::init();
///     world.size();  // 1
[[nodiscard]] KILN_API Session init(const InitOptions& options = {}, Where where = Where::here());

/// Whether the process is in a group: after init(), until the end of its Session.
///     K::distributed::is_initialized();  // false
[[nodiscard]] KILN_API bool is_initialized();

/// The group of init(). Errors: ValueError before it, and after its end.
///     const auto session = K::distributed::init();
///     K::distributed::world().is_root();  // true
[[nodiscard]] KILN_API Group world(Where where = Where::here());

}  // namespace kiln::distributed
