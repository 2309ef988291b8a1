// Several processes that train one model: their group, collectives, which are tensors that combine
// values of all of them, and operations on variables. The project's own. Each process is a rank; a
// launcher starts them:
//     mpirun -n 4 ./train
// Started alone, a program is rank 0 of 1 and opens no communication library. Operations, and calls
// of functions with collectives, are made by all ranks in the same order; one that differs, fails
// or ends early is an error on all ranks that says so, never a wait without end: each wait has a
// time limit. A failed call changes no variable on any rank or, after agreement, breaks the group.
#pragma once

#include <kiln/collectives.h>
#include <kiln/group.h>
#include <kiln/string_argument.h>
#include <kiln/variable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kiln::distributed {

struct BroadcastVariablesOptions {
  WholeNumber root = 0;
};

/// Sets the variables of all ranks to the values of the root's: all, or none on an error.
/// Errors: ValueError for a root that is no rank, and before init(); TypeError for a tensor that is
/// not a variable; DistributedError, also if names, dtypes or shapes differ between ranks.
///     const auto session = K::distributed::init();
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     K::distributed::broadcast_variables({w});
///     K::get_value(w);  // [1. 2.]
KILN_API void broadcast_variables(const std::vector<Tensor>& variables,
                                  const BroadcastVariablesOptions& options = {},
                                  Where where = Where::here());

/// Checks that the variables have the bits of rank 0's on all ranks.
/// Errors: those of broadcast_variables; DistributedError that names the first variable and element
/// that differ.
///     const auto session = K::distributed::init();
///     K::distributed::require_equal({K::variable({1., 2.}, {.name = "w"})});
KILN_API void require_equal(const std::vector<Tensor>& variables, Where where = Where::here());

/// Runs `work` on each rank. If it throws on one, that is an error on all; what it did on others
/// stays. For work of the root alone, whose failure the others must learn of:
/// Errors: what `work` throws; DistributedError on the other ranks; ValueError before init(), and
/// for an empty function.
///     const auto session = K::distributed::init();
///     K::distributed::run_together([&] { if (session.is_root()) K::save_weights("w", {}); });
KILN_API void run_together(const std::function<void()>& work, Where where = Where::here());

/// A file of the root on all ranks, whose disks need not be shared: a copy in memory as long as an
/// object of these lives; on the root that file, also if the path gets another. Copies share it.
///     const auto session = K::distributed::init();
///     K::distributed::RootFile("no such file").exists();  // false
class KILN_API RootFile {
 public:
  /// Called by all ranks. Errors: IoError on a rank that cannot read the file or store its copy;
  /// DistributedError on the others; ValueError before init().
  explicit RootFile(const StringArgument& path, Where where = Where::here());

  [[nodiscard]] bool exists() const;  ///< on the root
  /// A path by which this process opens the file.
  [[nodiscard]] const std::string& path() const&;
  [[nodiscard]] std::string path() const&& { return path(); }

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace kiln::distributed
