// Several processes that train one model: their group, collectives, which are tensors that combine
// values of all of them, and operations on variables. The project's own. Each process is a rank; a
// launcher starts them:
//     mpirun -n 4 ./train
// Started alone, a program is rank 0 of 1 and opens no communication library. Operations, and calls
// of functions with collectives, are made by all ranks in the same order; one that differs, fails
// or ends early is an error on all ranks that says so, never a wait without end: each wait has a
// time limit. A call that fails on one rank changes no variable on any.
#pragma once

#include <kiln/collectives.h>
#include <kiln/group.h>
#include <kiln/variable.h>

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

}  // namespace kiln::distributed
