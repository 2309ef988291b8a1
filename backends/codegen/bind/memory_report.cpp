// Prints a line for each block of an arena, bodies indented.
#include "backends/codegen/bind/memory_report.h"

#include "backends/codegen/inspect/source.h"
#include "backends/codegen/plan/lifetimes.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <iomanip>

namespace kiln::codegen {
namespace {

constexpr std::size_t kMaxListed = 5;

std::string type_of(const PlanMemory& memory, SlotId slot) {
  return text(memory.plan->slots[slot].dtype, "[", join_text(memory.sizes->dims(slot), ","), "]");
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
  if (const auto* rows = std::get_if<RowUpdateStep>(&step)) return rows->updates[0].node;
  if (const auto* attention = std::get_if<AttentionStep>(&step)) return attention->node;
  return nullptr;
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
  const IdVector<SlotId, Lifetime> lives = lifetimes(plan, program.kernels);
  for (const SlotId i : plan.slots.ids()) {
    const Slot& slot = plan.slots[i];
    if (!slot.is<TemporarySlot>() || lives[i].first < 0) continue;
    out += text(indent, i, " ", ir::Type{slot.dtype, slot.dims}, ", ", formula(slot), " bytes, ",
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

std::string tensors_text(const PlanMemory& memory, std::span<const SlotId> slots,
                         const char* next) {
  std::string all, sources;
  for (const SlotId slot : slots) {
    all += text(all.empty() ? "" : next, slot, " ", type_of(memory, slot));
    sources += (sources.empty() ? "" : ", ") + source_of_slot(memory.plan->slots[slot]);
  }
  return all + "  # " + sources;
}

const char* name_of(StepBlock::Kind kind) {
  switch (kind) {
    case StepBlock::Kind::Scratch: return "scratch";
    case StepBlock::Kind::SpareCarry: return "second buffer of a loop carry";
    case StepBlock::Kind::Body: return "body";
  }
  return "";
}

std::string text_of(const PlanMemory& memory, const ArenaBlock& block, const TensorsBlock&) {
  return tensors_text(memory, memory.arena->slots_of(block), ", then ");
}
std::string text_of(const PlanMemory& memory, const ArenaBlock& block, const CarryStacksBlock&) {
  return tensors_text(memory, memory.arena->slots_of(block), ", one slice later ");
}
std::string text_of(const PlanMemory& memory, const ArenaBlock&, const StepBlock& use) {
  const ir::Node* node = node_of(memory.plan->steps[at(use.step)]);
  return text(name_of(use.kind), " of step ", use.step,
              node ? "  # " + source_of(*node) : std::string());
}

void print_blocks(const PlanMemory& memory, const std::string& indent, std::string& out) {
  std::vector<const ArenaBlock*> blocks;
  for (const ArenaBlock& block : memory.arena->blocks) {
    if (block.memory.bytes != 0) blocks.push_back(&block);
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const ArenaBlock* a, const ArenaBlock* b) {
    return a->memory.offset < b->memory.offset;
  });
  for (const ArenaBlock* block : blocks) {
    const MemoryBlock& range = block->memory;
    const std::string contents =
        std::visit([&](const auto& one) { return text_of(memory, *block, one); }, block->contents);
    out += text(indent, "at ", range.offset, ": ", range.bytes, " bytes, ",
                steps_text(range.first, range.last), ", ", contents, "\n");
  }
  for (const PlanMemory::Body& body : memory.bodies) {
    out += text(indent, "step ", body.step, ", ", body.name, ", ", body.memory.arena->bytes,
                " bytes:\n");
    print_blocks(body.memory, indent + "  ", out);
  }
}

/// "# arena of 128 bytes, 1.000 times the largest live set of 128 bytes".
std::string totals_of(const Arena& arena) {
  TextStream ratio;
  const double live = static_cast<double>(std::max(arena.live_bytes, std::int64_t{1}));
  ratio << std::fixed << std::setprecision(3)
        << (arena.bytes == 0 ? 1.0 : static_cast<double>(arena.bytes) / live);
  return text("# arena of ", arena.bytes, " bytes, ", ratio.str(),
              " times the largest live set of ", arena.live_bytes, " bytes");
}

struct Large {
  std::int64_t bytes;
  std::string description;
};

void add_large(const PlanMemory& memory, SlotId slot, std::int64_t bytes,
               std::vector<Large>& found) {
  if (bytes == 0) return;
  found.push_back({bytes, text(bytes, " bytes of ", type_of(memory, slot), " (",
                               source_of_slot(memory.plan->slots[slot]), ")")});
}

void collect_large(const PlanMemory& memory, std::vector<Large>& found) {
  for (const ArenaBlock& block : memory.arena->blocks) {
    const std::vector<SlotId> slots = memory.arena->slots_of(block);
    if (!slots.empty()) add_large(memory, slots.front(), block.memory.bytes, found);
  }
  for (const PlanMemory::Body& body : memory.bodies) collect_large(body.memory, found);
}

/// Slots of arguments that are used, then of results, each once.
std::vector<SlotId> arguments_and_results(const Plan& plan) {
  std::vector<SlotId> slots;
  const auto add = [&](SlotId slot) {
    const bool is_known = std::find(slots.begin(), slots.end(), slot) != slots.end();
    if (slot && !is_known) slots.push_back(slot);
  };
  for (const SlotId slot : plan.arguments) add(slot);
  for (const SlotId slot : plan.results) add(slot);
  return slots;
}

}  // namespace

std::string print_memory(const Program& program) {
  std::string out = "# temporary tensors; their offsets depend on the sizes of a call\n";
  print_symbolic(program, program.plan, "", out);
  return out;
}

std::string print_memory(const Program& program, const PlanMemory& memory,
                         const MemoryNotes& notes) {
  std::string out = totals_of(*memory.arena) + notes.totals + "\n";
  for (std::size_t i = 0; i < program.plan.arguments.size(); ++i) {
    const SlotId slot = program.plan.arguments[i];
    if (!slot) continue;
    const std::string name = name_of_argument(program.plan.slots[slot].node, static_cast<int>(i));
    out += text("# ", name, " ", type_of(memory, slot), "\n");
  }
  out += notes.lines;
  print_blocks(memory, "", out);
  return out;
}

std::string largest_tensors(const PlanMemory& memory) {
  std::vector<Large> found;
  collect_large(memory, found);
  for (const SlotId slot : arguments_and_results(*memory.plan)) {
    add_large(memory, slot, memory.sizes->bytes[slot], found);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Large& a, const Large& b) { return a.bytes > b.bytes; });
  if (found.size() > kMaxListed) found.resize(kMaxListed);
  std::string out;
  for (const Large& one : found) out += (out.empty() ? "; the largest: " : ", ") + one.description;
  return out;
}

}  // namespace kiln::codegen
