// Collectives: tensors that combine values of all ranks of a group. Each rank builds the same
// graph, each collective at the same source line (several of one line in the same order), and calls
// the same functions; with one rank a collective is its operand. Sums add in the order of one tree
// over ranks, so that all ranks get the same bits, which depend on the values and the number of
// ranks alone; halves add in float32 and round once. Gradients are those of the sum of all ranks'
// losses: a loss that every rank computes in full counts once for each.
#pragma once

#include <kiln/group.h>
#include <kiln/results.h>
#include <kiln/tensor.h>

#include <optional>
#include <vector>

namespace kiln::distributed {

/// Cuts the rows of a step into equal parts, each of which is computed by itself: means over the
/// parts of all ranks have the same bits on 1, 2, 4, .. ranks. `cpu` and `reference` promise that
/// for equal code (one instruction set); random draws are those of the part, not of the rank.
/// Each part is a run of one program, which a rank with several parts repeats.
struct Shards {
  /// The number of parts over all ranks: the number of ranks times a power of two. 0: rows are not
  /// cut.
  WholeNumber count = 0;
  /// The placeholders whose axis 0, None in each, counts rows. All ranks feed equally many rows, a
  /// multiple of the parts of a rank. No collective may be needed within a part, no size of the
  /// function may be known only at run time, and all of its Shards have one count. No gradient
  /// flows through a mean over parts.
  std::vector<Tensor> split = {};
};

/// How all_reduce combines elements.
enum class Reduction { Sum, Mean, Max, Min };

struct AllReduceOptions {
  Reduction reduction = Reduction::Sum;
  Tensor weight = {};  ///< of this rank in a Mean, as in GradientsOptions
  Shards shards = {};  ///< of a Mean: the mean of x computed for each part; x has a static shape
  std::optional<Group> group = {};  ///< unset: world(), here and below
};
/// Returns x combined over the ranks, element by element, on all of them; of a list, one tensor for
/// each. Max and Min: any dtype, of bools any and all; Sum: numbers; Mean: floating point. Shapes,
/// equal on all ranks, and dtypes are kept. Ranks with the maximum share the gradient of Max.
/// Errors: ValueError before init(), for an empty tensor, and for a weight that is not a scalar or
/// not of a Mean; TypeError for a Sum of bools, and for a Mean or weight that is no floating point;
/// for shards, those of gradients().
///     const auto session = K::distributed::init();
///     const auto x = K::constant({1., 2.});
///     K::eval(K::distributed::all_reduce(x));  // [1. 2.]
[[nodiscard]] KILN_API Tensor all_reduce(const Operand& x, const AllReduceOptions& options = {});
[[nodiscard]] KILN_API Results<Tensor> all_reduce(const std::vector<Tensor>& x,
                                                  const AllReduceOptions& options = {},
                                                  Where where = Where::here());

struct AllGatherOptions {
  WholeNumber axis = 0;  ///< negative: from the last
  std::optional<Group> group = {};
};
/// Returns the ranks' x concatenated along an axis, in rank order: of x's dtype and shape, but the
/// axis is as many times as long as there are ranks. x: any dtype and rank but a scalar; its shape
/// is equal on all ranks.
/// Errors: ValueError before init(), for an empty tensor and for an axis that is out of range.
///     const auto session = K::distributed::init();
///     K::eval(K::distributed::all_gather(K::constant({1., 2.})));  // [1. 2.]
[[nodiscard]] KILN_API Tensor all_gather(const Operand& x, const AllGatherOptions& options = {});

struct ReduceScatterOptions {
  WholeNumber axis = 0;  ///< negative: from the last
  std::optional<Group> group = {};
};
/// Returns this rank's part of an axis of the sum of x over the ranks: of x's dtype and shape, but
/// the axis is divided by the number of ranks. x: numbers, of equal shapes on all ranks.
/// Errors: those of all_gather; TypeError for bools; ValueError for an axis whose size is not a
/// multiple of the number of ranks, at the call if the size is not known before.
///     const auto session = K::distributed::init();
///     K::eval(K::distributed::reduce_scatter(K::constant({1., 2.})));  // [1. 2.]
[[nodiscard]] KILN_API Tensor reduce_scatter(const Operand& x,
                                             const ReduceScatterOptions& options = {});

struct BroadcastOptions {
  WholeNumber root = 0;
  std::optional<Group> group = {};
};
/// Returns the root's x on all ranks, of x's dtype and shape. x: any dtype, of equal shapes on all
/// ranks.
/// Errors: ValueError before init(), for an empty tensor and for a root that is no rank.
///     const auto session = K::distributed::init();
///     K::eval(K::distributed::broadcast(K::constant({1., 2.})));  // [1. 2.]
[[nodiscard]] KILN_API Tensor broadcast(const Operand& x, const BroadcastOptions& options = {});

struct GradientsOptions {
  /// The weight of this rank in the mean, a floating-point scalar such as its number of rows; 1 if
  /// unset. A rank with weight 0 does not count, whatever its gradient is: one without data feeds
  /// an empty batch.
  Tensor weight = {};
  Shards shards = {};  ///< the mean over parts instead of ranks
  std::optional<Group> group = {};
};
/// Returns the gradients with respect to `variables`, as K::gradients, of the ranks' mean loss: of
/// the sum of weight times `loss`, divided by the sum of weights. Feed them to `updates` of
/// kiln/optimizers.h. A variable on which the loss does not depend has no gradient on
/// any rank. Over weights that are all 0 the mean is NaN.
/// Errors: those of K::gradients; ValueError before init(), and for a weight that is not a scalar;
/// TypeError for a weight that is not floating point. For shards, ValueError for a number that is
/// not the ranks times a power of two, for no split placeholders, one of another kind or of a
/// static axis 0, for a variable that depends on one of them, for a weight beside them and, at the
/// call, for rows that are not a multiple of the parts; NotImplementedError for a collective within
/// a part, of the function for different counts and for a size that is known only at run time, and
/// of K::gradients through the result.
///     const auto session = K::distributed::init();
///     const auto w = K::variable({1., 3.});
///     K::eval(K::distributed::gradients(K::sum(K::square(w)), {w})[0]);  // [2. 6.]
[[nodiscard]] KILN_API Results<Tensor> gradients(const Operand& loss,
                                                 const std::vector<Tensor>& variables,
                                                 const GradientsOptions& options = {});

}  // namespace kiln::distributed
