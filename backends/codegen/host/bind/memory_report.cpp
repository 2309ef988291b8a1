// One line for each place of an arena, bodies indented.
#include "backends/codegen/host/bind/memory_report.h"

#include "backends/codegen/inspect/source.h"
#include "backends/codegen/plan/lifetimes.h"
#include "core/types/text.h"

#include <algorithm>
#include <iomanip>

namespace kiln::codegen {
namespace {

constexpr std::size_t kMostListed = 5;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string type_of(const BoundPlan& bound, int slot) {
  return text(bound.plan->slots[at(slot)].dtype, "[", join_text(bound.dims[at(slot)], ","), "]");
}

std::string source_of_slot(const Slot& slot) {
  return slot.node ? source_of(*slot.node) : std::string("?");
}

std::string steps_text(int first, int last) {
  return first == last ? text("step ", first) : text("steps ", first, " to ", last);
}

const ir::Node* node_of(const Step& step) {
  if (const auto* loop = std::get_if<LoopStep>(&step)) return loop->node;
  if (const auto* branch = std::get_if<BranchStep>(&step)) return branch->node;
  if (const LibraryStep* call = library_step(step)) return call->node;
  return nullptr;
}

/// The bodies that a step has, each with what to call it. Groups of rows of a loop are alike.
template <class Visit>
void for_each_body(const BoundStep& step, const Visit& visit) {
  if (const auto* branch = std::get_if<BoundBranch>(&step)) {
    visit("then", *branch->bodies.plans[0]);
    visit("else", *branch->bodies.plans[1]);
  }
  const auto* loop = std::get_if<BoundLoop>(&step);
  if (!loop) return;
  const std::size_t groups = loop->bodies.plans.size();
  visit(groups > 1 ? text("body for the first of ", groups, " groups of rows") : "body",
        *loop->bodies.plans[0]);
}

// ---- Before sizes are known ----

/// Bytes as a formula.
std::string formula(const Slot& slot) {
  ir::Dim bytes = static_cast<std::int64_t>(dtype_bytes(slot.dtype));
  for (const ir::Dim& dim : slot.dims) bytes = bytes * dim;
  return text(bytes);
}

void print_symbolic(const Program& program, const Plan& plan, const std::string& indent,
                    std::string& out) {
  const std::vector<Lifetime> lives = lifetimes(plan, program.kernels);
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.kind != Slot::Kind::Temporary || lives[i].first < 0) continue;
    out +=
        text(indent, "%", i, " ", ir::Type{slot.dtype, slot.dims}, ", ", formula(slot), " bytes, ",
             steps_text(lives[i].first, lives[i].last), "  # ", source_of_slot(slot), "\n");
  }
  const auto print_body = [&](std::size_t step, const char* name, const Plan& body) {
    out += text(indent, "step ", step, ", ", name, ":\n");
    print_symbolic(program, body, indent + "  ", out);
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (const auto* loop = std::get_if<LoopStep>(&plan.steps[s])) {
      print_body(s, "body", *loop->body);
    }
    if (const auto* branch = std::get_if<BranchStep>(&plan.steps[s])) {
      print_body(s, "then", *branch->branches[0]);
      print_body(s, "else", *branch->branches[1]);
    }
  }
}

// ---- With sizes ----

std::string contents_of(const BoundPlan& bound, const ArenaBlock& block) {
  const bool stacks = block.kind == ArenaBlock::Kind::CarryStacks;
  if (stacks || block.kind == ArenaBlock::Kind::Tensors) {
    const char* const next = stacks ? ", one slice later " : ", then ";
    std::string all, sources;
    for (const int slot : block.slots) {
      all += text(all.empty() ? "" : next, "%", slot, " ", type_of(bound, slot));
      sources += (sources.empty() ? "" : ", ") + source_of_slot(bound.plan->slots[at(slot)]);
    }
    return all + "  # " + sources;
  }
  constexpr const char* kNames[] = {"", "", "scratch", "second place of a carried tensor", "body"};
  std::string all = text(kNames[static_cast<int>(block.kind)], " of step ", block.step);
  if (const ir::Node* node = node_of(bound.plan->steps[at(block.step)])) {
    all += "  # " + source_of(*node);
  }
  return all;
}

void print_blocks(const BoundPlan& bound, const std::string& indent, std::string& out) {
  std::vector<const ArenaBlock*> blocks;
  for (const ArenaBlock& block : bound.blocks) {
    if (block.memory.bytes != 0) blocks.push_back(&block);
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const ArenaBlock* a, const ArenaBlock* b) {
    return a->memory.offset < b->memory.offset;
  });
  for (const ArenaBlock* block : blocks) {
    const MemoryBlock& memory = block->memory;
    out += text(indent, "at ", memory.offset, ": ", memory.bytes, " bytes, ",
                steps_text(memory.first, memory.last), ", ", contents_of(bound, *block), "\n");
  }
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    for_each_body(bound.steps[s], [&](const std::string& name, const BoundPlan& body) {
      out += text(indent, "step ", s, ", ", name, ", ", body.arena_bytes, " bytes:\n");
      print_blocks(body, indent + "  ", out);
    });
  }
}

/// Who computes a product, part by part where they differ.
std::string makers_of(const BoundMatmul& ready) {
  std::vector<std::pair<std::string, std::size_t>> makers;
  for (const ProductRun& run : ready.runs) {
    const std::string maker =
        text(run.product->description(), run.shares_rhs          ? ", once for all of them"
                                         : run.packed_offset < 0 ? ""
                                                                 : ", right operand packed");
    const auto known = std::find_if(makers.begin(), makers.end(),
                                    [&](const auto& one) { return one.first == maker; });
    if (known != makers.end()) {
      ++known->second;
    } else {
      makers.emplace_back(maker, 1);
    }
  }
  if (makers.size() == 1) return " by " + makers[0].first;
  std::string out;
  for (const auto& [maker, parts] : makers) {
    out += text(out.empty() ? ": " : "; ", parts, " by ", maker);
  }
  return out;
}

std::string runs_text(const BoundMatmul& matmul) {
  if (matmul.runs.empty()) return "nothing to multiply";
  return text(matmul.runs.size(), matmul.runs.size() == 1 ? " product" : " products",
              matmul.parallel ? " side by side" : "", makers_of(matmul));
}

std::string runs_text(const BoundConvolution& bound) {
  if (!bound.convolution) return "nothing to multiply";
  return text("convolution in ", bound.convolution->parts(), " parts by ",
              bound.convolution->description());
}

void print_runs(const BoundPlan& bound, const std::string& indent, std::string& out) {
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    const BoundStep& ready = bound.steps[s];
    const auto print_product = [&](const std::string& runs) {
      out += text(indent, "step ", s, ": ", runs, "  # ",
                  source_of(*library_step(bound.plan->steps[s])->node), "\n");
    };
    if (const auto* matmul = std::get_if<BoundMatmul>(&ready)) print_product(runs_text(*matmul));
    if (const auto* conv = std::get_if<BoundConvolution>(&ready)) print_product(runs_text(*conv));
    for_each_body(ready, [&](const std::string& name, const BoundPlan& body) {
      out += text(indent, "step ", s, ", ", name, ":\n");
      print_runs(body, indent + "  ", out);
    });
  }
}

void print_kept_steps(const BoundPlan& bound, std::string& out) {
  std::string arguments;
  for (const int slot : bound.kept_arguments)
    arguments += text(arguments.empty() ? "%" : ", %", slot);
  for (std::size_t s = 0; s < bound.is_kept_step.size(); ++s) {
    if (bound.is_kept_step[s]) {
      out += text("# step ", s, " runs when one of ", arguments, " has changed\n");
    }
  }
}

struct Large {
  std::int64_t bytes;
  std::string what;
};

void collect_large(const BoundPlan& bound, std::vector<Large>& found) {
  for (const ArenaBlock& block : bound.blocks) {
    if (block.slots.empty() || block.memory.bytes == 0) continue;
    const int slot = block.slots.front();
    found.push_back(
        {block.memory.bytes, text(block.memory.bytes, " bytes of ", type_of(bound, slot), " (",
                                  source_of_slot(bound.plan->slots[at(slot)]), ")")});
  }
  for (const BoundStep& step : bound.steps) {
    for_each_body(step,
                  [&](const std::string&, const BoundPlan& body) { collect_large(body, found); });
  }
}

}  // namespace

std::string print_memory(const Program& program) {
  std::string out = "# temporary tensors; their places follow from the sizes of a call\n";
  print_symbolic(program, program.plan, "", out);
  return out;
}

std::string print_memory(const Program& program, const BoundPlan& bound) {
  TextStream ratio;
  const double live = static_cast<double>(std::max(bound.live_bytes, std::int64_t{1}));
  ratio << std::fixed << std::setprecision(3)
        << (bound.arena_bytes == 0 ? 1.0 : static_cast<double>(bound.arena_bytes) / live);
  std::string out = text("# arena of ", bound.arena_bytes, " bytes, ", ratio.str(),
                         " times the largest live set of ", bound.live_bytes,
                         " bytes; packed: ", bound.packed_bytes, " bytes\n");
  for (std::size_t i = 0; i < program.plan.arguments.size(); ++i) {
    const int slot = program.plan.arguments[i];
    if (slot >= 0) out += text("# argument ", i, " ", type_of(bound, slot), "\n");
  }
  print_kept_steps(bound, out);
  print_blocks(bound, "", out);
  return out;
}

std::string print_products(const BoundPlan& bound) {
  std::string out = "# what ran each product, for one tuple of sizes\n";
  print_runs(bound, "", out);
  return out;
}

std::string largest_tensors(const BoundPlan& bound) {
  std::vector<Large> found;
  collect_large(bound, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Large& a, const Large& b) { return a.bytes > b.bytes; });
  if (found.size() > kMostListed) found.resize(kMostListed);
  std::string out;
  for (const Large& one : found) out += (out.empty() ? "; the largest: " : ", ") + one.what;
  return out;
}

}  // namespace kiln::codegen
