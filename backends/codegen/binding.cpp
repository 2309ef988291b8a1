// Evaluates every size of a plan once, prepares products, and gives temporaries their places.
#include "backends/codegen/binding.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan_memory.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Parts of a parallel run have about this many expressions, or multiply-adds of products.
constexpr std::int64_t kKernelGrain = 1 << 15;
constexpr std::int64_t kProductGrain = 1 << 20;
constexpr std::int64_t kMostParts = 64, kMostProductParts = 8;
/// Rows of a loop that make a group worth a thread, and the most groups.
constexpr std::int64_t kGroupRows = 16, kMostGroups = 8;
/// Parts of the axis that lanes run along begin at multiples of this.
constexpr std::int64_t kLaneBlock = 64;

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED, "a tensor has more bytes than 63 bits count");
  }
  return result;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Slots that a step reads, then those it writes.
struct Touched {
  std::vector<int> read, written;
};

class Binder {
 public:
  Binder(const Plan& plan, const std::vector<BuiltKernel>& kernels,
         const std::vector<KernelFunction>& functions, const EvaluateDim& evaluate,
         ProductLibrary* library, const RowGroup* group)
      : plan_(plan),
        kernels_(kernels),
        functions_(functions),
        evaluate_(evaluate),
        library_(library),
        group_(group),
        out_(std::make_unique<BoundPlan>()) {}

  std::unique_ptr<BoundPlan> run() {
    out_->plan = &plan_;
    for (const Slot& slot : plan_.slots) {
      out_->bytes.push_back(bytes_of(slot));
      out_->dims.emplace_back();
      for (const ir::Dim& dim : slot.dims) out_->dims.back().push_back(evaluate_(dim));
    }
    out_->steps.resize(plan_.steps.size());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      scale_ = group_ ? (*group_->scales)[i] : 0;
      std::visit([&](const auto& step) { bind(step, out_->steps[i]); }, plan_.steps[i]);
    }
    place();
    return std::move(out_);
  }

 private:
  std::int64_t bytes_of(const Slot& slot) const {
    std::int64_t bytes = static_cast<std::int64_t>(dtype_bytes(slot.dtype));
    bool empty = false;
    for (const ir::Dim& dim : slot.dims) empty |= evaluate_(dim) == 0;
    if (empty) return 0;
    for (const ir::Dim& dim : slot.dims) bytes = checked_product(bytes, evaluate_(dim));
    return bytes;
  }

  void bind(const KernelStep& step, BoundStep& bound) {
    const BuiltKernel& built = kernels_[static_cast<std::size_t>(step.kernel)];
    const Kernel& kernel = built.kernel;
    bound.function = functions_[static_cast<std::size_t>(step.kernel)];
    for (const ir::Dim& dim : kernel.sizes) bound.sizes.push_back(evaluate_(dim));
    bound.range = 1;
    std::int64_t per_index = static_cast<std::int64_t>(kernel.expressions.size()) + 1;
    for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
      const std::int64_t extent = evaluate_(kernel.axes[axis]);
      const bool outer = static_cast<int>(axis) < kernel.outer;
      if (outer && axis == 0) bound.range = extent;
      if (axis != 0 || !outer) {
        per_index = std::max(std::int64_t{1}, std::min(kKernelGrain, per_index) *
                                                  std::min(extent, kKernelGrain));
      }
      if (outer && extent == 0) bound.function = {};
    }
    if (!bound.function.run) bound.range = 0;
    if (scale_ != 0 && bound.range != 0) {
      bound.begin = group_->begin * scale_;
      bound.range = (group_->end - group_->begin) * scale_;
    }
    bound.grain = std::max(std::int64_t{1}, kKernelGrain / per_index);
    if (kernel.vector_axis == 0) bound.grain = ceil_div(bound.grain, kLaneBlock) * kLaneBlock;
    bound.grain = std::max(bound.grain, ceil_div(bound.range, kMostParts));
    if (kernel.vector_axis == 0) bound.grain = ceil_div(bound.grain, kLaneBlock) * kLaneBlock;
    bound.parallel = !group_ && kernel.outer > 0 && bound.range > bound.grain;
    for (const auto& [extent, node] : built.nonempty) {
      if (bound.range != 0 && evaluate_(extent) == 0) bound.empty_axis = node;
    }
  }

  MatrixProduct matrix(const ProductForm& form) const {
    MatrixProduct product;
    product.rows = evaluate_(form.rows.size);
    product.columns = evaluate_(form.columns.size);
    product.depth = evaluate_(form.depth.size);
    product.lhs_row = evaluate_(form.rows.lhs);
    product.lhs_depth = evaluate_(form.depth.lhs);
    product.rhs_depth = evaluate_(form.depth.rhs);
    product.rhs_column = evaluate_(form.columns.rhs);
    product.result_row = evaluate_(form.rows.result);
    product.result_column = evaluate_(form.columns.result);
    return product;
  }

  /// Splits by the size alone, so that results do not depend on the number of threads.
  void bind(const ProductStep& step, BoundStep& bound) {
    MatrixProduct whole = matrix(step.form);
    if (group_) whole.rows = std::min(whole.rows, group_->end - group_->begin);
    std::int64_t count = 1;
    for (const ProductAxis& axis : step.form.batch) {
      count = checked_product(count, evaluate_(axis.size));
    }
    if (count == 0 || whole.rows == 0 || whole.columns == 0 || whole.depth == 0) return;
    const std::int64_t work = whole.rows * whole.columns * whole.depth;
    const bool whole_only = count > 1 || group_;
    const std::int64_t parts =
        whole_only ? 1 : std::clamp(work / kProductGrain, std::int64_t{1}, kMostProductParts);
    const bool by_rows = whole.rows >= whole.columns;
    const std::int64_t extent = by_rows ? whole.rows : whole.columns;
    const std::int64_t part = ceil_div(ceil_div(extent, parts), 16) * 16;
    const std::int64_t skipped = group_ ? group_->begin : 0;
    const std::int64_t lhs = evaluate_(step.form.lhs_offset) + skipped * whole.lhs_row;
    const std::int64_t rhs = evaluate_(step.form.rhs_offset);
    for (std::int64_t i = 0; i < count; ++i) {
      ProductRun start{nullptr, lhs, rhs, skipped * whole.result_row};
      std::int64_t rest = i;
      for (auto axis = step.form.batch.rbegin(); axis != step.form.batch.rend(); ++axis) {
        const std::int64_t size = evaluate_(axis->size), index = rest % size;
        rest /= size;
        start.lhs += index * evaluate_(axis->lhs);
        start.rhs += index * evaluate_(axis->rhs);
        start.result += index * evaluate_(axis->result);
      }
      for (std::int64_t begin = 0; begin < extent; begin += part) {
        bound.runs.push_back(part_of(whole, start, by_rows, begin, std::min(part, extent - begin)));
      }
    }
    for (const ProductRun& run : bound.runs) {
      const auto scratch = static_cast<std::int64_t>(run.product->scratch_bytes());
      bound.scratch_bytes =
          std::max(bound.scratch_bytes, ceil_div(scratch, kAlignment) * kAlignment);
    }
    bound.parallel = !group_ && bound.runs.size() > 1 && work * count >= 2 * kProductGrain;
  }

  ProductRun part_of(MatrixProduct product, ProductRun run, bool by_rows, std::int64_t begin,
                     std::int64_t size) {
    if (by_rows) {
      product.rows = size;
      run.lhs += begin * product.lhs_row;
      run.result += begin * product.result_row;
    } else {
      product.columns = size;
      run.rhs += begin * product.rhs_column;
      run.result += begin * product.result_column;
    }
    run.product = library_->prepare(product);
    return run;
  }

  void bind(const LoopStep& step, BoundStep& bound) {
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    bound.length = evaluate_(attrs.length);
    const auto first_x = static_cast<std::size_t>(attrs.consts + attrs.carry);
    for (std::size_t i = first_x; i < step.operands.size(); ++i) {
      bound.slice_bytes.push_back(slice_bytes(step.operands[i], bound.length));
    }
    for (auto i = static_cast<std::size_t>(attrs.carry); i < step.results.size(); ++i) {
      bound.slice_bytes.push_back(slice_bytes(step.results[i], bound.length));
    }
    bound.spare_offsets.resize(static_cast<std::size_t>(attrs.carry));
    bind_groups(step, bound);
  }

  /// As many groups of rows as are worth a thread each; how many follows from the sizes alone.
  void bind_groups(const LoopStep& step, BoundStep& bound) {
    const std::int64_t rows = step.sharding ? evaluate_(step.sharding->rows) : 0;
    const std::int64_t groups = std::min(rows / kGroupRows, kMostGroups);
    if (groups < 2 || group_) return add_body(*step.body, bound, nullptr);
    for (std::int64_t g = 0; g < groups; ++g) {
      const RowGroup group{rows * g / groups, rows * (g + 1) / groups, &step.sharding->scales};
      add_body(*step.body, bound, &group);
    }
  }

  std::int64_t slice_bytes(int slot, std::int64_t length) const {
    return length == 0 ? 0 : out_->bytes[static_cast<std::size_t>(slot)] / length;
  }

  void bind(const BranchStep& step, BoundStep& bound) {
    for (const auto& branch : step.branches) add_body(*branch, bound, nullptr);
  }
  void bind(const HostCallStep&, BoundStep&) {}
  void bind(const CopyStep& step, BoundStep& bound) {
    bound.copy_bytes = out_->bytes[static_cast<std::size_t>(step.to)];
    if (!group_ || bound.copy_bytes == 0) return;
    const std::int64_t row =
        bound.copy_bytes / out_->dims[static_cast<std::size_t>(step.to)].front();
    bound.copy_begin = group_->begin * row;
    bound.copy_bytes = (group_->end - group_->begin) * row;
  }

  void add_body(const Plan& body, BoundStep& bound, const RowGroup* group) {
    bound.bodies.push_back(bind_plan(body, kernels_, functions_, evaluate_, library_, group));
    bound.body_offsets.push_back(0);
  }

  // ---- memory ----

  Touched touched(const Step& step) const {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) {
      Touched slots;
      const auto& operands = kernels_[static_cast<std::size_t>(kernel->kernel)].kernel.operands;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].read) slots.read.push_back(kernel->slots[i]);
        if (operands[i].written) slots.written.push_back(kernel->slots[i]);
      }
      return slots;
    }
    if (const auto* product = std::get_if<ProductStep>(&step)) {
      return {{product->lhs, product->rhs}, {product->result}};
    }
    if (const auto* copy = std::get_if<CopyStep>(&step)) return {{copy->from}, {copy->to}};
    if (const auto* loop = std::get_if<LoopStep>(&step)) return {loop->operands, loop->results};
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      return {branch->operands, branch->results};
    }
    const auto& call = std::get<HostCallStep>(step);
    return {call.operands, call.results};
  }

  /// Whether a kernel may write the slot `to` over `from`: each point reads and writes the same
  /// element and no point comes back to it.
  bool in_place(const KernelStep& step, int from, int to) const {
    const Kernel& kernel = kernels_[static_cast<std::size_t>(step.kernel)].kernel;
    if (kernel.stages.size() != 1 || kernel.stages[0].kind != StageKind::Map) return false;
    const Access* shape = nullptr;
    for (const Access& access : kernel.accesses) {
      const int slot = step.slots[static_cast<std::size_t>(access.operand)];
      if (slot != from && slot != to) continue;
      if (access.dynamic >= 0) return false;
      if (shape && (shape->offset != access.offset || shape->strides != access.strides)) {
        return false;
      }
      shape = &access;
    }
    const auto width = [&](int slot) {
      return dtype_bytes(plan_.slots[static_cast<std::size_t>(slot)].dtype);
    };
    return width(from) == width(to);
  }

  void place() {
    const int steps = static_cast<int>(plan_.steps.size());
    std::vector<int> first(plan_.slots.size(), -1), last(plan_.slots.size(), -1);
    std::vector<Touched> all;
    for (int s = 0; s < steps; ++s) {
      all.push_back(touched(plan_.steps[static_cast<std::size_t>(s)]));
      for (const std::vector<int>* list : {&all.back().read, &all.back().written}) {
        for (int slot : *list) {
          auto& begin = first[static_cast<std::size_t>(slot)];
          if (begin < 0) begin = s;
          last[static_cast<std::size_t>(slot)] = s;
        }
      }
    }
    std::vector<MemoryBlock> blocks;
    std::vector<int> block_of(plan_.slots.size(), -1);
    for (int s = 0; s < steps; ++s) {
      for (int slot : all[static_cast<std::size_t>(s)].written) {
        const auto i = static_cast<std::size_t>(slot);
        if (plan_.slots[i].kind != Slot::Kind::Temporary || block_of[i] >= 0) continue;
        block_of[i] = reused(s, slot, all[static_cast<std::size_t>(s)], last, block_of);
        if (block_of[i] < 0) {
          block_of[i] = static_cast<int>(blocks.size());
          blocks.push_back({out_->bytes[i], first[i], last[i]});
        }
        MemoryBlock& block = blocks[static_cast<std::size_t>(block_of[i])];
        block.last = std::max(block.last, last[i]);
      }
    }
    std::vector<std::int64_t*> places = add_step_blocks(blocks);
    const std::size_t own = blocks.size() - places.size();
    const MemoryPlan memory = plan_memory(blocks, steps);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = blocks[own + i].offset;
    for (int block : block_of) {
      out_->offsets.push_back(block < 0 ? -1 : blocks[static_cast<std::size_t>(block)].offset);
    }
    out_->arena_bytes = memory.bytes;
    out_->live_bytes = memory.live_bytes;
  }

  /// The block of a tensor that dies in step `s` and may be written over by `slot`; or -1.
  int reused(int s, int slot, const Touched& touched, const std::vector<int>& last,
             const std::vector<int>& block_of) const {
    const auto* kernel = std::get_if<KernelStep>(&plan_.steps[static_cast<std::size_t>(s)]);
    if (!kernel) return -1;
    for (int from : touched.read) {
      const auto i = static_cast<std::size_t>(from);
      const bool dies = block_of[i] >= 0 && last[i] == s && from != slot;
      if (!dies || out_->bytes[i] != out_->bytes[static_cast<std::size_t>(slot)]) continue;
      const bool taken = std::any_of(
          touched.written.begin(), touched.written.end(), [&](int other) {
            return other != slot && block_of[static_cast<std::size_t>(other)] == block_of[i];
          });
      if (!taken && in_place(*kernel, from, slot)) return block_of[i];
    }
    return -1;
  }

  /// Memory of steps themselves: scratch, spare carries, arenas of bodies.
  std::vector<std::int64_t*> add_step_blocks(std::vector<MemoryBlock>& blocks) {
    std::vector<std::int64_t*> places;
    const auto add = [&](std::size_t s, std::int64_t bytes, std::int64_t& place) {
      blocks.push_back({bytes, static_cast<int>(s), static_cast<int>(s)});
      places.push_back(&place);
    };
    for (std::size_t s = 0; s < out_->steps.size(); ++s) {
      BoundStep& step = out_->steps[s];
      if (step.scratch_bytes != 0) {
        const auto runs = step.parallel ? static_cast<std::int64_t>(step.runs.size()) : 1;
        add(s, step.scratch_bytes * runs, step.scratch_offset);
      }
      if (const auto* loop = std::get_if<LoopStep>(&plan_.steps[s])) {
        for (std::size_t i = 0; i < step.spare_offsets.size(); ++i) {
          add(s, out_->bytes[static_cast<std::size_t>(loop->results[i])], step.spare_offsets[i]);
        }
      }
      for (std::size_t i = 0; i < step.bodies.size(); ++i) {
        add(s, step.bodies[i]->arena_bytes, step.body_offsets[i]);
      }
    }
    return places;
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  const std::vector<KernelFunction>& functions_;
  const EvaluateDim& evaluate_;
  ProductLibrary* library_;
  const RowGroup* group_;
  std::int64_t scale_ = 0;  // of the step being bound
  std::unique_ptr<BoundPlan> out_;
};

}  // namespace

std::unique_ptr<BoundPlan> bind_plan(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                                     const std::vector<KernelFunction>& functions,
                                     const EvaluateDim& evaluate, ProductLibrary* library,
                                     const RowGroup* group) {
  return Binder(plan, kernels, functions, evaluate, library, group).run();
}

}  // namespace kiln::codegen
