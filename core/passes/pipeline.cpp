// The list of passes; core/rewrite/run_passes.h runs it.
#include "core/passes/pipeline.h"

#include "core/ir/traverse.h"
#include "core/module/verify.h"
#include "core/ops/op.h"
#include "core/passes/find_attention.h"
#include "core/passes/merge_matmuls.h"
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

#include <optional>

namespace kiln::passes {
namespace {

// Pass::keeps_bits, Pass::only_scans.
constexpr bool kKeepsBits = true, kReorders = false;
constexpr bool kOnlyScans = true, kAnyGraph = false;

constexpr Pass kPipeline[] = {
    {"simplify", simplify, kKeepsBits, kAnyGraph,
     "rewrites to a fixed point with the tables of equations"},
    // Before any pass changes the matmuls.
    {"find_attention", find_attention, kReorders, kAnyGraph,
     "replaces softmax(q k^T) v and its gradient by attention"},
    // The first of the scan passes: the augmented forward loop of a gradient still has the body of
    // the user's loop, so that scan_merge recognises them.
    {"scan_merge", scan_merge, kKeepsBits, kOnlyScans,
     "fuses loops of equal length that share carries or inputs"},
    {"scan_hoist_invariants", scan_hoist_invariants, kKeepsBits, kOnlyScans,
     "hoists loop invariants out of loops"},
    {"scan_batch_inputs", scan_batch_inputs, kReorders, kOnlyScans,
     "batches matmuls of inputs with invariants over all steps, before the loop"},
    // After hoisting, which makes the operands of the merged matmuls consts of the loop.
    {"scan_merge_gates", scan_merge_gates, kReorders, kOnlyScans,
     "merges matmuls that share an operand into one, with the other operands concatenated"},
    {"scan_push_outputs", scan_push_outputs, kReorders, kOnlyScans,
     "batches sums and matmuls that no later step reads over all steps, after the loop"},
    {"scan_drop_unused", scan_drop_unused, kKeepsBits, kOnlyScans,
     "removes carries, inputs and outputs that are not read"},
    // After dropping: all stacked outputs are then read.
    {"scan_merge_sums", scan_merge_sums, kReorders, kOnlyScans,
     "merges matmuls whose results are added into one, with the operands concatenated"},
    {"merge_matmuls", merge_matmuls, kReorders, kAnyGraph,
     "merges matmuls of adjacent slices of one tensor into one"},
    // The scan passes leave slices of concats, reshapes of reshapes and constants.
    {"simplify", simplify, kKeepsBits, kAnyGraph,
     "simplifies constants and movement ops that the scan passes leave"},
};

void verify_after(const Pass& pass, const ir::Graph& graph) {
  const auto violation = module::verify(graph);
  if (!violation) return;
  throw InternalError(
      "function", "",
      text("pass ", pass.name, " produced an invalid graph: ", *violation, "; please report this"));
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

ir::Graph run_pipeline(const ir::Graph& graph, const PipelineOptions& options) {
  ir::Graph current = graph;
  std::optional<bool> has_scans;  // whether `current` contains a Scan; no pass creates one
  rewrite::run_passes(
      kPipeline, options.disabled,
      [&](const Pass& pass) {
        if (pass.only_scans) {
          if (!has_scans) has_scans = ir::reaches(current.roots(), ir::Op::Scan);
          if (!*has_scans) return false;
        }
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
