// The passes, wrapped as functions of a Compilation in the order in which they run, and their
// table.
#include "backends/codegen/pipeline.h"

#include "backends/codegen/fusion/fuse.h"
#include "backends/codegen/graph/check_sizes.h"
#include "backends/codegen/graph/expand_composites.h"
#include "backends/codegen/graph/fold_scales.h"
#include "backends/codegen/graph/make_padding_symmetric.h"
#include "backends/codegen/graph/merge_loop_results.h"
#include "backends/codegen/graph/raise_permutes.h"
#include "backends/codegen/graph/share_relu_masks.h"
#include "backends/codegen/graph/sink_permutes.h"
#include "backends/codegen/graph/sink_repetitions.h"
#include "backends/codegen/graph/update_rows.h"
#include "backends/codegen/graph/widen_accumulators.h"
#include "backends/codegen/graph/widen_composites.h"
#include "backends/codegen/kernel/drop_roundings.h"
#include "backends/codegen/kernel/split/split_reductions.h"
#include "backends/codegen/plan/agree_before_updates.h"
#include "backends/codegen/plan/build_plan.h"
#include "backends/codegen/plan/drop_unused_kernels.h"
#include "backends/codegen/plan/find_region.h"
#include "backends/codegen/plan/gather_equal_kernels.h"
#include "backends/codegen/plan/fuse_epilogues.h"
#include "backends/codegen/plan/fuse_loops.h"
#include "backends/codegen/plan/independent_rows.h"
#include "backends/codegen/plan/note_claims.h"
#include "backends/codegen/plan/read_narrow_weights.h"
#include "backends/codegen/plan/stack_carries.h"
#include "backends/codegen/plan/transpose_filters.h"
#include "backends/codegen/plan/verify_plan.h"
#include "core/module/print.h"
#include "core/module/verify.h"
#include "core/ops/make.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <numeric>

namespace kiln::codegen {
namespace {

bool check_sizes(Compilation& c) {
  require_countable(c.results);
  c.guards = ir::collect_guards(c.results);
  c.names = SizeNames(c.guards);
  return true;
}

template <GraphPass kPass>
bool rewrite_graph(Compilation& c) {
  std::vector<ir::Value> next = kPass(c.results, c.library);
  const bool changed = next != c.results;
  c.results = std::move(next);
  return changed;
}

/// Expands composites. Keeps the decisions of claims about them for dumps, and their nodes alive.
bool expand_composites(Compilation& c) {
  std::vector<ClaimDecision> rejected = rejected_composites(c.results, c.names, c.library);
  if (!rejected.empty()) c.program.nodes = c.results;
  for (ClaimDecision& decision : rejected) {
    c.program.claims.push_back({.decision = std::move(decision), .fused = {}, .not_fused = {}});
  }
  return rewrite_graph<codegen::expand_composites>(c);
}

bool fold_scales(Compilation& c) {
  std::vector<ir::Value> next = fold_scales(c.results, c.arguments, c.unchanged, c.library);
  const bool changed = next != c.results;
  c.results = std::move(next);
  return changed;
}

bool update_rows(Compilation& c) {
  std::vector<VariableUpdate> updates;
  for (const InputOutputAlias& one : c.updates) {
    updates.push_back(
        {static_cast<std::size_t>(one.result), static_cast<std::size_t>(one.argument)});
  }
  std::vector<ir::Value> next = update_rows(c.results, c.arguments, updates, c.library);
  const bool changed = next != c.results;
  c.results = std::move(next);
  return changed;
}

bool decide_claims(Compilation& c) {
  c.computations = decide_claims(c.arguments, c.results, c.names, c.library);
  return true;
}

bool fuse(Compilation& c) {
  for (const Computation& computation : c.computations) {
    c.fusion_plans.push_back(fuse(computation, c.target));
  }
  return true;
}

bool build_kernels(Compilation& c) {
  for (std::size_t i = 0; i < c.computations.size(); ++i) {
    c.kernels_of_groups.push_back(
        build_kernels(c.fusion_plans[i], c.computations[i].names, c.program.kernels));
  }
  return true;
}

bool split_reductions(Compilation& c) {
  bool changed = false;
  for (std::size_t i = 0; i < c.computations.size(); ++i) {
    const bool here = split_reductions(c.fusion_plans[i], c.kernels_of_groups[i], c.program.kernels,
                                       c.target, c.computations[i].is_body);
    changed = changed || here;
  }
  return changed;
}

bool build_plan(Compilation& c) {
  for (std::size_t i = 0; i < c.computations.size(); ++i) {
    c.bodies.push_back(std::make_shared<Plan>(build_plan(c.computations[i], c.fusion_plans[i],
                                                         c.kernels_of_groups[i], c.program.kernels,
                                                         c.bodies, c.library)));
  }
  c.program.plan = std::move(*c.bodies.back());
  c.bodies.pop_back();
  std::vector<ir::Value>& nodes = c.program.nodes;
  nodes.insert(nodes.end(), c.results.begin(), c.results.end());
  for (const FusionPlan& plan : c.fusion_plans) {
    nodes.insert(nodes.end(), plan.created_values.begin(), plan.created_values.end());
  }
  return true;
}

Plan& body_of(const LoopStep& loop, const Compilation& c) {
  return **std::find(c.bodies.begin(), c.bodies.end(), loop.body);
}

bool stack_carries(Compilation& c) {
  bool changed = false;
  for (Plan* plan : plans_of(c)) {
    for (Step& step : plan->steps) {
      auto* loop = std::get_if<LoopStep>(&step);
      if (loop && stack_carries(*plan, *loop, body_of(*loop, c))) changed = true;
    }
  }
  return changed;
}

bool fuse_epilogues(Compilation& c) {
  bool changed = false;
  for (Plan* plan : plans_of(c)) {
    const std::size_t before = plan->steps.size();
    fuse_epilogues(*plan, c.program.kernels, c.library);
    changed = changed || plan->steps.size() != before;
  }
  return changed;
}

bool read_narrow_weights(Compilation& c) {
  return read_narrow_weights(c.program.plan, c.program.kernels, c.unchanged, c.library);
}

bool transpose_filters(Compilation& c) {
  if (c.library == nullptr || !c.library->takes_filters_first()) return false;
  bool changed = false;
  const std::vector<Plan*> plans = plans_of(c);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (transpose_filters(*plans[i], c.computations[i].names, c.program)) changed = true;
  }
  return changed;
}

bool drop_unused_kernels(Compilation& c) {
  const IdVector<KernelId, KernelId> ids = drop_unused_kernels(plans_of(c), c.program.kernels);
  const auto renumber = [&](KernelId& kernel) {
    if (kernel) kernel = ids[kernel];
  };
  for (KernelsOfGroups& groups : c.kernels_of_groups) {
    for (std::vector<KernelId>& kernels : groups) {
      std::for_each(kernels.begin(), kernels.end(), renumber);
    }
  }
  return true;
}

bool drop_roundings(Compilation& c) {
  bool changed = false;
  for (BuiltKernel& built : c.program.kernels) changed |= drop_roundings(built.kernel);
  return changed;
}

bool order_loops(Compilation& c) {
  if (!c.loop_transform) return false;
  for (BuiltKernel& built : c.program.kernels) c.loop_transform(built.kernel);
  return true;
}

bool note_claims(Compilation& c) {
  const std::vector<Plan*> plans = plans_of(c);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    std::vector<ClaimOutcome> outcomes = note_claims(c.computations[i], c.fusion_plans[i],
                                                     c.kernels_of_groups[i], *plans[i], c.library);
    std::move(outcomes.begin(), outcomes.end(), std::back_inserter(c.program.claims));
  }
  return true;
}

/// Lowers part_multiple of a loop's kernels to what groups of rows allow: groups begin at multiples
/// of a step's indices per row.
void restrict_part_multiples(const LoopStep& loop, BuiltKernels& kernels) {
  const std::vector<std::int64_t>& scales = loop.independent_rows->scales;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto* step = std::get_if<KernelStep>(&loop.body->steps[i]);
    if (!step || scales[i] == 0) continue;
    std::int64_t& multiple = kernels[step->kernel].kernel.part_multiple;
    multiple = std::gcd(multiple, scales[i]);
  }
}

bool find_independent_rows(Compilation& c) {
  bool changed = false;
  for (Plan* plan : plans_of(c)) {
    for (Step& step : plan->steps) {
      auto* loop = std::get_if<LoopStep>(&step);
      if (!loop) continue;
      loop->independent_rows = find_independent_rows(*loop, c.program.kernels);
      if (loop->independent_rows) restrict_part_multiples(*loop, c.program.kernels);
      changed = changed || loop->independent_rows;
    }
  }
  return changed;
}

bool fuse_loops(Compilation& c) {
  if (c.target.loop_bytes == 0) return false;
  bool changed = false;
  for (Plan* plan : plans_of(c)) {
    for (Step& step : plan->steps) {
      auto* loop = std::get_if<LoopStep>(&step);
      if (!loop) continue;
      loop->fusion = decide_fusion(*loop, c.program.kernels, c.target.loop_bytes);
      changed = true;
    }
  }
  return changed;
}

bool find_region(Compilation& c) {
  Plan& plan = c.program.plan;
  find_region(plan, c.program.kernels);
  return plan.region_end > plan.region_begin;
}

bool gather_equal_kernels(Compilation& c) {
  if (!c.target.batches_launches) return false;
  gather_equal_kernels(c.program.plan, c.program.kernels);
  return c.program.plan.opening_end > 0;
}

bool find_buffer_aliases(Compilation& c) {
  if (!c.updates.empty()) agree_before_updates(c.program);
  c.updates_in_place = find_buffer_aliases(c.program, c.updates);
  return true;
}

ir::Graph graph_of(const Compilation& c) {
  ir::Graph graph;
  graph.outputs = c.results;
  for (const ir::Value& argument : c.arguments) {
    if (argument.node->op == ir::Op::Placeholder) graph.inputs.push_back(argument);
  }
  return graph;
}

void verify_graph(const Compilation& c) {
  if (const auto message = module::verify(graph_of(c))) {
    throw InternalError("verify", "", "the graph is broken: " + *message);
  }
}

void verify_fusion_plans(const Compilation& c) {
  for (const FusionPlan& plan : c.fusion_plans) verify(plan);
}

void verify_kernels(const Compilation& c) {
  for (const BuiltKernel& built : c.program.kernels) verify(built.kernel);
}

void verify_plan(const Compilation& c) { verify(c.program.plan, c.program.kernels); }

void verify_plan_and_kernels(const Compilation& c) {
  verify_kernels(c);
  verify_plan(c);
}

void verify_nothing(const Compilation&) {}

std::string print_results(const Compilation& c) { return module::print_graph(graph_of(c)); }

std::string print_fusion_plans(const Compilation& c) {
  std::string out;
  for (const FusionPlan& plan : c.fusion_plans) out += print(plan) + "\n";
  return out;
}

std::string print_kernels(const Compilation& c) {
  std::string out;
  for (const BuiltKernel& built : c.program.kernels) out += print(built.kernel) + "\n";
  return out;
}

std::string print_program(const Compilation& c) { return print(c.program); }

constexpr bool kRequired = false, kOptional = true;  // CodegenPass::is_optional
constexpr bool kKeepsBits = true, kReorders = false;  // CodegenPass::keeps_bits

/// Names are stable: KILN_DISABLE lists them and dumps have files of these names.
constexpr CodegenPass kPipeline[] = {
    {"check_sizes", check_sizes, verify_nothing, nullptr, kRequired, kKeepsBits,
     "rejects static sizes that overflow; gives sizes that guards equate one name"},
    {"widen_composites", rewrite_graph<widen_composites>, verify_graph, print_results, kOptional,
     kReorders, "computes float16 and bfloat16 in float32 where a library takes only that"},
    {"expand_composites", expand_composites, verify_graph, print_results, kRequired, kReorders,
     "expands composite ops (softmax and the like) into primitives"},
    {"sink_permutes", rewrite_graph<sink_permutes>, verify_graph, print_results, kOptional,
     kReorders, "moves layout permutations together, so that they cancel"},
    {"sink_repetitions", rewrite_graph<sink_repetitions>, verify_graph, print_results, kOptional,
     kReorders, "stores what is computed of repeated elements in place of the elements"},
    {"raise_permutes", rewrite_graph<raise_permutes>, verify_graph, print_results, kOptional,
     kReorders, "computes permuted results in their own layout"},
    {"fold_scales", fold_scales, verify_graph, print_results, kOptional, kReorders,
     "folds scales and shifts of batch normalization into filters and biases of convolutions"},
    {"make_padding_symmetric", rewrite_graph<make_padding_symmetric>, verify_graph, print_results,
     kRequired, kReorders, "pads images where a library's convolutions need symmetric padding"},
    {"share_relu_masks", rewrite_graph<share_relu_masks>, verify_graph, print_results, kOptional,
     kKeepsBits, "takes the mask of relu's gradient from relu's result instead of its operand"},
    {"merge_loop_results", rewrite_graph<merge_loop_results>, verify_graph, print_results,
     kOptional, kKeepsBits, "stacks equal results of a loop once"},
    {"widen_accumulators", rewrite_graph<widen_accumulators>, verify_graph, print_results,
     kRequired, kReorders, "accumulates float16 and bfloat16 in float32, rounding once"},
    {"update_rows", update_rows, verify_graph, print_results, kOptional, kKeepsBits,
     "updates only the rows of an embedding that have an index"},
    // The graph is final from here on.
    {"decide_claims", decide_claims, verify_nothing, nullptr, kRequired, kKeepsBits,
     "decides which nodes the target's libraries compute"},
    {"fuse", fuse, verify_fusion_plans, print_fusion_plans, kRequired, kKeepsBits,
     "groups nodes into kernels, library calls, loops and branches"},
    {"build_kernels", build_kernels, verify_kernels, print_kernels, kRequired, kReorders,
     "lowers each group of nodes to a loop nest"},
    {"split_reductions", split_reductions, verify_kernels, print_kernels, kOptional, kReorders,
     "splits reductions with few results into partial reductions, for parallelism"},
    {"build_plan", build_plan, verify_plan, print_program, kRequired, kKeepsBits,
     "lowers fusion groups to steps over numbered tensors"},
    {"stack_carries", stack_carries, verify_plan, print_program, kOptional, kKeepsBits,
     "stores carries of loops in the stacks of their values, which saves copies"},
    {"fuse_epilogues", fuse_epilogues, verify_plan, print_program, kOptional, kReorders,
     "fuses bias and relu into the epilogues of library calls"},
    {"read_narrow_weights", read_narrow_weights, verify_plan, print_program, kOptional, kReorders,
     "has matmuls widen weights of 16-bit floats, of which no float32 copy is stored then"},
    {"transpose_filters", transpose_filters, verify_plan, print_program, kRequired, kKeepsBits,
     "transposes the filters of convolutions where a library has them in another layout"},
    {"drop_unused_kernels", drop_unused_kernels, verify_plan, nullptr, kRequired, kKeepsBits,
     "drops kernels that no step runs"},
    {"drop_roundings", drop_roundings, verify_plan_and_kernels, print_program, kOptional, kReorders,
     "keeps chains of float16 and bfloat16 arithmetic in float32, rounding once at the end"},
    {"order_loops", order_loops, verify_plan_and_kernels, print_program, kRequired, kReorders,
     "chooses loop order and vector axis for the target"},
    {"note_claims", note_claims, verify_nothing, nullptr, kRequired, kKeepsBits,
     "records the outcome of each claim for dumps"},
    {"find_independent_rows", find_independent_rows, verify_plan_and_kernels, print_program,
     kOptional, kReorders, "finds row-independent loops, which run in parallel over rows"},
    {"fuse_loops", fuse_loops, verify_plan, print_program, kOptional, kKeepsBits,
     "finds loops that a GPU runs as one kernel, without a launch per iteration"},
    {"find_region", find_region, verify_plan, print_program, kOptional, kKeepsBits,
     "moves kernels whose results no step reads into a parallel region at the end"},
    {"gather_equal_kernels", gather_equal_kernels, verify_plan, print_program, kOptional,
     kKeepsBits, "moves equal kernels of arguments to the front, where one launch may run them"},
    {"find_buffer_aliases", find_buffer_aliases, verify_plan, nullptr, kOptional, kKeepsBits,
     "finds new values that may share the old ones' buffers; ranks agree before they are written"},
};

}  // namespace

std::vector<Plan*> plans_of(Compilation& compilation) {
  std::vector<Plan*> plans;
  for (const std::shared_ptr<Plan>& body : compilation.bodies) plans.push_back(body.get());
  plans.push_back(&compilation.program.plan);
  return plans;
}

std::span<const CodegenPass> pipeline() { return kPipeline; }

void run_pipeline(Compilation& compilation, const PipelineOptions& options) {
  rewrite::run_passes(
      kPipeline, options.disabled, [&](const CodegenPass& pass) { return pass.run(compilation); },
      [&](const CodegenPass& pass) {
        try {
          pass.verify(compilation);
        } catch (const InternalError& error) {
          throw InternalError(
              "function", "",
              text("after ", pass.name, ": ", error.message(), "; please report this"));
        }
      },
      [&](const CodegenPass& pass, const rewrite::PassRun& run) {
        if (options.report) options.report(pass, run);
      });
  compilation.updates_in_place.resize(compilation.updates.size(), 0);
}

}  // namespace kiln::codegen
