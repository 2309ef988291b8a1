// The key of a form has all that its bytes depend on, besides the versions of the variables.
#include "backends/codegen/host/bind/bind_weights.h"

#include "core/types/at.h"

namespace kiln::codegen {
namespace {

class WeightBinder {
 public:
  WeightBinder(BoundPlan& bound, const BindInputs& inputs)
      : bound_(bound),
        inputs_(inputs),
        cached_(bound.facts->cached),
        key_(inputs.memory.scratch),
        group_identities_(inputs.memory.scratch) {}

  void run() {
    bound_.weights.reserve(cached_.groups.size() + bound_.packings.size());
    if (!cached_.groups.empty()) bound_.cached_offsets.resize(bound_.plan->slots.size(), -1);
    for (std::size_t g = 0; g < cached_.groups.size(); ++g) add_group(static_cast<int>(g));
    for (std::size_t i = 0; i < bound_.packings.size(); ++i) {
      add_packing(bound_.packings[i], -1, i, bound_.packings[i].source);
    }
    for (std::size_t s = 0; s < bound_.steps.size(); ++s) {
      if (loop_of(bound_.steps[s])) add_loop(s);
    }
  }

 private:
  /// The results of a group depend on the sizes of its kernels and of the slots.
  void add_group(int number) {
    const CachedGroup& group = cached_.groups[at(number)];
    key_.assign({kGroup, number});
    for (const int step : group.steps) {
      const auto& kernel = std::get<BoundKernel>(bound_.steps[at(step)]);
      key_.insert(key_.end(), {kernel.begin, kernel.range});
      key_.insert(key_.end(), kernel.sizes.begin(), kernel.sizes.end());
    }
    std::int64_t bytes = 0;
    for (const SlotId slot : group.slots) {
      bound_.cached_offsets[slot] = bytes;
      bytes += aligned(bound_.sizes.bytes[slot]);
      key_.push_back(bytes);
    }
    BoundWeight weight;
    weight.form = form_of(bytes, nullptr);
    weight.group = number;
    add(std::move(weight));
    group_identities_.push_back(bound_.weights.back().form->identity);
  }

  void add_loop(std::size_t s) {
    const auto& step = std::get<LoopStep>(bound_.plan->steps[s]);
    const BoundPlan& body = bound_of(static_cast<int>(s));
    for (std::size_t i = 0; i < body.packings.size(); ++i) {
      const SlotId slot = packed_operand(step, body.packings[i]);
      if (!is_weight(slot)) continue;
      add_packing(body.packings[i], static_cast<int>(s), i, slot);
    }
  }

  /// The bound plan that has the packings of BoundWeight::loop.
  const BoundPlan& bound_of(int loop) const {
    if (loop < 0) return bound_;
    return *loop_of(bound_.steps[at(loop)])->bodies.plans[0];
  }

  /// The form of key_, which the weight of the same number in another bound plan often has.
  std::shared_ptr<const WeightForm> form_of(std::int64_t bytes,
                                            const std::shared_ptr<const Packer>& packer) const {
    const std::size_t number = bound_.weights.size();
    if (inputs_.previous && number < inputs_.previous->weights.size()) {
      const auto& form = inputs_.previous->weights[number].form;
      if (form->is_of(key_, packer.get())) return form;
    }
    return inputs_.forms.of(key_, bytes, packer);
  }

  bool is_weight(SlotId slot) const {
    if (cached_.group_of_slot[slot] >= 0) return true;
    const auto* argument = std::get_if<ArgumentSlot>(&bound_.plan->slots[slot].kind);
    const std::vector<bool>& unchanged = bound_.facts->unchanged;
    return argument && at(argument->number) < unchanged.size() && unchanged[at(argument->number)];
  }

  /// `loop`, `number`: BoundWeight::loop and ::packing.
  void add_packing(const Packing& packing, int loop, std::size_t number, SlotId slot) {
    const MatmulShape& shape = packing.shape;
    BoundWeight weight;
    weight.slot = slot;
    weight.loop = loop;
    weight.packing = static_cast<int>(number);
    weight.group = cached_.group_of_slot[slot];
    const std::int64_t group = weight.group < 0 ? 0 : group_identity(weight.group);
    key_.assign({kPacking, slot.number, group, packing.rhs, packing.bytes, shape.n, shape.k,
                 shape.rhs_k, shape.rhs_n, static_cast<std::int64_t>(shape.dtype),
                 static_cast<std::int64_t>(shape.rhs_dtype())});
    // The layout of a packed rhs follows from its shape, see PreparedMatmul::packed_bytes().
    const bool is_filter = shape.n == 0;
    weight.form = form_of(packing.bytes,
                          is_filter ? bound_of(loop).parts_of(packing).front().packer : nullptr);
    add(std::move(weight));
  }

  std::int64_t group_identity(int group) const {
    return static_cast<std::int64_t>(group_identities_[at(group)]);
  }

  void add(BoundWeight weight) {
    bound_.weight_bytes += weight.form->bytes;
    bound_.weights.push_back(std::move(weight));
  }

  enum Kind : std::int64_t { kGroup, kPacking };

  BoundPlan& bound_;
  const BindInputs& inputs_;
  const CachedSteps& cached_;
  List<std::int64_t> key_;
  List<std::uint64_t> group_identities_;
};

}  // namespace

void bind_weights(BoundPlan& bound, const BindInputs& inputs) { WeightBinder(bound, inputs).run(); }

}  // namespace kiln::codegen
