// The list itself; core/rewrite/run_passes.h runs it.
#include "core/passes/pipeline.h"

#include "core/module/verify.h"
#include "core/passes/merge_products.h"
#include "core/passes/scan_batch_inputs.h"
#include "core/passes/scan_drop_unused.h"
#include "core/passes/scan_hoist_invariants.h"
#include "core/passes/scan_merge.h"
#include "core/passes/scan_merge_gates.h"
#include "core/passes/scan_merge_sums.h"
#include "core/passes/scan_push_outputs.h"
#include "core/passes/simplify.h"
#include "core/rewrite/run_passes.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::passes {
namespace {

// Pass::keeps_bits.
constexpr bool kKeepsBits = true, kReorders = false;

constexpr Pass kPipeline[] = {
    {"simplify", simplify, kKeepsBits,
     "rewrite to a fixed point with the tables of equations"},
    // First of the scan passes: the augmented forward loop of a gradient still has the very body
    // of the user's loop, so that they are recognised as one.
    {"scan_merge", scan_merge, kKeepsBits,
     "fuses loops of equal length that share carries or inputs"},
    {"scan_hoist_invariants", scan_hoist_invariants, kKeepsBits,
     "what does not change from step to step is computed once, before the loop"},
    {"scan_batch_inputs", scan_batch_inputs, kReorders,
     "products of inputs with invariants become one product for all steps, before the loop"},
    // After hoisting: the operands of the products that are joined are then consts of the loop.
    {"scan_merge_gates", scan_merge_gates, kReorders,
     "products that share an operand become one, of the other operands side by side"},
    {"scan_push_outputs", scan_push_outputs, kReorders,
     "sums and products that no later step reads are computed for all steps, after the loop"},
    {"scan_drop_unused", scan_drop_unused, kKeepsBits,
     "removes carries, inputs and outputs that are not read"},
    // After dropping: what is stacked then is read.
    {"scan_merge_sums", scan_merge_sums, kReorders,
     "products of computed values that are added become one, of the operands side by side"},
    {"merge_products", merge_products, kReorders,
     "products of neighbouring slices of one tensor become one product of it"},
    // The scan passes leave slices of concats, reshapes of reshapes and constants.
    {"simplify", simplify, kKeepsBits,
     "again: the scan passes expose constants and movement that cancels"},
};

void verify_after(const Pass& pass, const ir::Graph& graph) {
  const auto fault = module::verify(graph);
  if (!fault) return;
  throw InternalError("function", "", text("pass ", pass.name, " made a broken graph: ", *fault,
                                           "; please report this"));
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

ir::Graph run_pipeline(const ir::Graph& graph, const PipelineOptions& options) {
  ir::Graph current = graph;
  rewrite::run_passes(
      kPipeline, options.disabled,
      [&](const Pass& pass) {
        ir::Graph next = pass.run(current);
        const bool changed = !(next == current);
        current = std::move(next);
        return changed;
      },
      [&](const Pass& pass) {
        if (options.verify) verify_after(pass, current);
      },
      [&](const Pass& pass, const rewrite::PassRun& run) {
        if (!options.report) return;
        options.report({pass, run.position, current, run.changed, run.seconds});
      });
  return current;
}

}  // namespace kiln::passes
