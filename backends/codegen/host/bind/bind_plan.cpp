// Evaluates every size of a plan once, prepares products, and gives temporaries their places.
#include "backends/codegen/host/bind/bind_plan.h"

#include "backends/codegen/host/bind/place_tensors.h"
#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Parts of a parallel run have about this many expressions, or multiply-adds of products.
constexpr std::int64_t kKernelGrain = 1 << 15;
constexpr std::int64_t kProductGrain = 1 << 20;
constexpr std::int64_t kMostParts = 64, kMostProductParts = 8;
/// Parts have whole tiles: with fewer columns the same left operand is read too often.
constexpr std::int64_t kPartRows = 16, kPartColumns = 32;
/// Rows of a loop that make a group worth a thread, and the most groups.
constexpr std::int64_t kGroupRows = 16, kMostGroups = 8;
/// Parts of the axis that lanes run along begin at multiples of this.
constexpr std::int64_t kLaneBlock = 64;

std::int64_t checked_product(std::int64_t a, std::int64_t b, const ir::Node* node) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > INT64_MAX - kAlignment) {
    throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED,
                      text("a tensor has more bytes than 63 bits count",
                           node ? " (" + source_of(*node) + ")" : ""));
  }
  return result;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t aligned(std::int64_t bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

bool same_rhs(const MatrixProduct& a, const MatrixProduct& b) {
  return a.depth == b.depth && a.columns == b.columns && a.rhs_depth == b.rhs_depth &&
         a.rhs_column == b.rhs_column;
}

class Binder {
 public:
  Binder(const Plan& plan, const std::vector<BuiltKernel>& kernels,
         const std::vector<KernelFunction>& functions, const EvaluateDim& evaluate,
         ProductLibrary* library, const PlanUse& use)
      : plan_(plan),
        kernels_(kernels),
        functions_(functions),
        evaluate_(evaluate),
        library_(library),
        use_(use),
        group_(use.group),
        out_(std::make_unique<BoundPlan>()) {}

  std::unique_ptr<BoundPlan> run() {
    out_->plan = &plan_;
    for (const Slot& slot : plan_.slots) {
      out_->bytes.push_back(bytes_of(slot));
      out_->dims.emplace_back();
      for (const ir::Dim& dim : slot.dims) out_->dims.back().push_back(evaluate_(dim));
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      scale_ = group_ ? (*group_->scales)[i] : 0;
      out_->steps.push_back(
          std::visit([&](const auto& step) -> BoundStep { return bind(step); }, plan_.steps[i]));
    }
    place_packings();
    place_tensors(*out_, kernels_);
    return std::move(out_);
  }

 private:
  std::int64_t bytes_of(const Slot& slot) const {
    std::int64_t bytes = static_cast<std::int64_t>(dtype_bytes(slot.dtype));
    bool empty = false;
    for (const ir::Dim& dim : slot.dims) empty |= evaluate_(dim) == 0;
    if (empty) return 0;
    for (const ir::Dim& dim : slot.dims) bytes = checked_product(bytes, evaluate_(dim), slot.node);
    return bytes;
  }

  BoundKernel bind(const KernelStep& step) const {
    BoundKernel bound;
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
        per_index = std::max(std::int64_t{1},
                             std::min(kKernelGrain, per_index) * std::min(extent, kKernelGrain));
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
    return bound;
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
    return product;
  }

  std::vector<std::int64_t> evaluated(const ir::Dims& dims) const {
    std::vector<std::int64_t> sizes;
    for (const ir::Dim& dim : dims) sizes.push_back(evaluate_(dim));
    return sizes;
  }

  Convolution convolution(const ir::Node& node) const {
    const auto& attrs = node.as<ir::ConvAttrs>();
    Convolution c;
    c.role = static_cast<ConvRole>(attrs.role);
    std::vector<std::int64_t> tensors[3];  // by role
    std::size_t next = 0;
    for (std::size_t role = 0; role < 3; ++role) {
      const bool is_result = static_cast<std::int64_t>(role) == attrs.role;
      tensors[role] = evaluated(is_result ? node.types[0].dims : node.operands[next++].dims());
    }
    const auto &input = tensors[0], &kernel = tensors[1], &output = tensors[2];
    c.batch = input[0];
    c.groups = evaluate_(attrs.groups);
    c.channels = input.back() / c.groups;
    c.filters = output.back() / c.groups;
    c.sizes.assign(input.begin() + 1, input.end() - 1);
    c.windows.assign(kernel.begin(), kernel.end() - 2);
    c.places.assign(output.begin() + 1, output.end() - 1);
    c.strides = attrs.strides;
    c.dilations = attrs.dilations;
    c.low = evaluated(attrs.low);
    return c;
  }

  BoundConvolution bind(const ConvolutionStep& step) {
    BoundConvolution bound;
    bound.columns = evaluate_(step.node->types[0].dims.back());
    for (const int slot : {step.lhs, step.rhs, step.result}) {
      if (out_->bytes[static_cast<std::size_t>(slot)] == 0) return bound;
    }
    Convolution c = convolution(*step.node);
    c.bias = step.bias >= 0;
    c.relu = step.relu;
    const int kernel = c.role == ConvRole::Output ? step.rhs : step.lhs;
    const int source = c.role == ConvRole::Kernel ? -1 : kept_source(kernel);
    bound.convolution = library_->prepare_convolution(c, rhs_use(source));
    bound.scratch.bytes = aligned(static_cast<std::int64_t>(bound.convolution->scratch_bytes()));
    bound.parallel = !group_ && bound.convolution->parts() > 1;
    const auto packed = static_cast<std::int64_t>(bound.convolution->packed_bytes());
    if (source < 0 || packed == 0) return bound;
    bound.packed_kernel = out_->packed_bytes;
    out_->packings.push_back({bound.convolution, source, 0, {}, out_->packed_bytes});
    out_->packed_bytes += aligned(packed);
    return bound;
  }

  /// Splits by the size alone, so that results do not depend on the number of threads.
  BoundMatmul bind(const MatmulStep& step) {
    BoundMatmul bound;
    MatrixProduct whole = matrix(step.form);
    whole.bias = step.bias >= 0;
    whole.relu = step.relu;
    bound.columns = whole.columns;
    if (group_) whole.rows = std::min(whole.rows, group_->end - group_->begin);
    std::int64_t count = 1;
    for (const ProductAxis& axis : step.form.batch) {
      count = checked_product(count, evaluate_(axis.size), step.node);
    }
    if (count == 0 || whole.rows == 0 || whole.columns == 0 || whole.depth == 0) return bound;
    const std::int64_t work = whole.rows * whole.columns * whole.depth;
    const bool whole_only = count > 1 || group_;
    const std::int64_t parts =
        whole_only ? 1 : std::clamp(work / kProductGrain, std::int64_t{1}, kMostProductParts);
    const bool by_rows = whole.rows >= whole.columns;
    const std::int64_t extent = by_rows ? whole.rows : whole.columns;
    const std::int64_t unit = by_rows ? kPartRows : kPartColumns;
    const std::int64_t part = ceil_div(ceil_div(extent, parts), unit) * unit;
    const std::int64_t skipped = group_ ? group_->begin : 0;
    const std::int64_t lhs = evaluate_(step.form.lhs_offset) + skipped * whole.lhs_row;
    const std::int64_t rhs = evaluate_(step.form.rhs_offset);
    const int source = count == 1 ? kept_source(step.rhs) : -1;
    const bool shared = source < 0 && count == 1 && by_rows && part < extent;
    const RhsUse use = shared ? RhsUse::Shared : rhs_use(source);
    for (std::int64_t i = 0; i < count; ++i) {
      ProductRun start;
      start.lhs = lhs;
      start.rhs = rhs;
      start.result = skipped * whole.result_row;
      std::int64_t rest = i;
      for (auto axis = step.form.batch.rbegin(); axis != step.form.batch.rend(); ++axis) {
        const std::int64_t size = evaluate_(axis->size), index = rest % size;
        rest /= size;
        start.lhs += index * evaluate_(axis->lhs);
        start.rhs += index * evaluate_(axis->rhs);
        start.result += index * evaluate_(axis->result);
      }
      for (std::int64_t begin = 0; begin < extent; begin += part) {
        bound.runs.push_back(
            part_of(whole, start, by_rows, begin, std::min(part, extent - begin), use, source));
      }
    }
    if (shared) share_rhs(bound);
    for (const ProductRun& run : bound.runs) {
      const auto scratch = static_cast<std::int64_t>(run.product->scratch_bytes());
      bound.scratch.bytes = std::max(bound.scratch.bytes, aligned(scratch));
    }
    bound.parallel = !group_ && bound.runs.size() > 1 && work * count >= 2 * kProductGrain;
    return bound;
  }

  ProductRun part_of(MatrixProduct product, ProductRun run, bool by_rows, std::int64_t begin,
                     std::int64_t size, RhsUse use, int source) {
    if (by_rows) {
      product.rows = size;
      run.lhs += begin * product.lhs_row;
      run.result += begin * product.result_row;
    } else {
      product.columns = size;
      run.rhs += begin * product.rhs_column;
      run.bias += begin;
      run.result += begin;
    }
    run.product = library_->prepare(product, use);
    const bool packed = source >= 0 && run.product->packed_bytes() != 0;
    if (packed) run.packed_offset = packed_place(product, run, source);
    return run;
  }

  /// All parts read the same right operand, from its first element on; some of them packed.
  static void share_rhs(BoundMatmul& bound) {
    for (ProductRun& run : bound.runs) {
      const auto bytes = static_cast<std::int64_t>(run.product->packed_bytes());
      if (bytes == 0) continue;
      bound.shared_rhs = {run.product, run.rhs, aligned(bytes)};
      run.shares_rhs = true;
    }
  }

  RhsUse rhs_use(int source) const {
    if (source < 0) return RhsUse::Once;
    return use_.consts >= 0 ? RhsUse::Loop : RhsUse::Kept;
  }

  /// Where an operand comes from that stays the same for many runs (see Packing); -1: it does not.
  int kept_source(int slot) const {
    const Slot& described = plan_.slots[static_cast<std::size_t>(slot)];
    if (described.kind != Slot::Kind::Argument) return -1;
    const int number = described.number;
    if (use_.consts >= 0) return number >= 1 && number <= use_.consts ? number - 1 : -1;
    const auto i = static_cast<std::size_t>(number);
    return i < use_.kept.size() && use_.kept[i] ? slot : -1;
  }

  /// The place of the packed operand; products with the same one share it.
  std::int64_t packed_place(const MatrixProduct& matrix, const ProductRun& run, int source) {
    BoundPlan& first = use_.first ? *use_.first : *out_;
    for (const Packing& known : first.packings) {
      if (known.source == source && known.rhs == run.rhs && same_rhs(known.matrix, matrix)) {
        return known.offset;
      }
    }
    first.packings.push_back({run.product, source, run.rhs, matrix, first.packed_bytes});
    first.packed_bytes += aligned(static_cast<std::int64_t>(run.product->packed_bytes()));
    return first.packings.back().offset;
  }

  /// Bodies of one step lie at one place: groups of rows share what the first one has for all of
  /// them, and of branches one runs.
  void place_packings() {
    for (BoundStep& step : out_->steps) {
      BoundBodies* bodies = bodies_of(step);
      if (!bodies) continue;
      bodies->packed_offset = out_->packed_bytes;
      std::int64_t most = 0;
      for (const auto& body : bodies->plans) most = std::max(most, body->packed_bytes);
      out_->packed_bytes += most;
    }
  }

  BoundLoop bind(const LoopStep& step) const {
    BoundLoop bound;
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
    list_moves(step, attrs, bound);
    bind_groups(step, attrs, bound);
    return bound;
  }

  static void list_moves(const LoopStep& step, const ir::ScanAttrs& attrs, BoundLoop& bound) {
    const auto first_carry = static_cast<std::size_t>(attrs.consts);
    const auto carries = static_cast<std::size_t>(attrs.carry);
    const std::size_t first_x = first_carry + carries, xs = step.operands.size() - first_x;
    bound.direction = attrs.reverse ? -1 : 1;
    for (std::size_t x = 0; x < xs; ++x) {
      const int slot = step.body->arguments[1 + first_x + x];
      if (slot >= 0) bound.moves.push_back({slot, bound.direction * bound.slice_bytes[x]});
    }
    for (std::size_t y = carries; y < step.results.size(); ++y) {
      bound.moves.push_back(
          {step.body->results[y], bound.direction * bound.slice_bytes[xs + y - carries]});
    }
    for (std::size_t c = 0; c < carries; ++c) {
      bound.carries.push_back(
          {c, step.body->arguments[1 + first_carry + c], step.body->results[c]});
    }
  }

  /// As many groups of rows as are worth a thread each; how many follows from the sizes alone.
  void bind_groups(const LoopStep& step, const ir::ScanAttrs& attrs, BoundLoop& bound) const {
    BoundBodies& bodies = bound.bodies;
    PlanUse use;
    use.consts = static_cast<int>(attrs.consts);
    const std::int64_t rows = step.sharding ? evaluate_(step.sharding->rows) : 0;
    const std::int64_t groups = std::min(rows / kGroupRows, kMostGroups);
    if (groups < 2 || group_) return add_body(*step.body, bodies, use);
    for (std::int64_t g = 0; g < groups; ++g) {
      const RowGroup group{rows * g / groups, rows * (g + 1) / groups, &step.sharding->scales};
      use.group = &group;
      if (g > 0) use.first = bodies.plans[0].get();
      add_body(*step.body, bodies, use);
      if (bodies.plans[0]->failure) return;
    }
  }

  std::int64_t slice_bytes(int slot, std::int64_t length) const {
    return length == 0 ? 0 : out_->bytes[static_cast<std::size_t>(slot)] / length;
  }

  BoundBranch bind(const BranchStep& step) const {
    BoundBranch bound;
    for (const auto& branch : step.branches) add_body(*branch, bound.bodies, {});
    return bound;
  }
  static BoundHostCall bind(const HostCallStep&) { return {}; }
  BoundCopy bind(const CopyStep& step) const {
    const auto to = static_cast<std::size_t>(step.to);
    const std::int64_t bytes = out_->bytes[to];
    if (!group_ || bytes == 0) return {0, bytes};
    const std::int64_t row = bytes / out_->dims[to].front();
    return {group_->begin * row, (group_->end - group_->begin) * row};
  }

  void add_body(const Plan& body, BoundBodies& bodies, const PlanUse& use) const {
    bodies.plans.push_back(bind_body(body, use));
    bodies.offsets.push_back(0);
  }

  /// Binds a body. If these sizes make that fail, the error is stored and thrown when the body is
  /// entered. Other failures are thrown: the next call tries again.
  std::unique_ptr<BoundPlan> bind_body(const Plan& body, const PlanUse& use) const {
    try {
      const std::string failure = ir::first_failure(body.guards, evaluate_);
      if (!failure.empty()) return failing({KILN_CODE_INVALID_ARGUMENT, failure});
      return bind_plan(body, kernels_, functions_, evaluate_, library_, use);
    } catch (const SizeFailure& error) {
      return failing({error.code(), error.what()});
    } catch (const ValueError& error) {
      return failing({KILN_CODE_INVALID_ARGUMENT, error.message()});
    }
  }

  static std::unique_ptr<BoundPlan> failing(BindFailure failure) {
    static const Plan kEmpty;
    auto bound = std::make_unique<BoundPlan>();
    bound->plan = &kEmpty;
    bound->failure = std::move(failure);
    return bound;
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  const std::vector<KernelFunction>& functions_;
  const EvaluateDim& evaluate_;
  ProductLibrary* library_;
  const PlanUse& use_;
  const RowGroup* group_;
  std::int64_t scale_ = 0;  // of the step being bound
  std::unique_ptr<BoundPlan> out_;
};

}  // namespace

std::unique_ptr<BoundPlan> bind_plan(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                                     const std::vector<KernelFunction>& functions,
                                     const EvaluateDim& evaluate, ProductLibrary* library,
                                     const PlanUse& use) {
  return Binder(plan, kernels, functions, evaluate, library, use).run();
}

}  // namespace kiln::codegen
