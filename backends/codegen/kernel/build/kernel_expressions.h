// Builds the operands, accesses and expressions of one kernel on demand, while build_kernel.cpp
// emits its stages. Invariant: an expression follows its arguments in the list. Index maps are over
// the domain of the fusion group; the axes of the kernel are the same, permuted: outer ones first.
#pragma once

#include "backends/codegen/access/node_iteration_space.h"
#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/kernel/build/built_kernel.h"

#include <map>
#include <tuple>

namespace kiln::codegen {

class KernelExpressions {
 public:
  KernelExpressions(const KernelGroup& group, const FusionPlan& fusion_plan,
                    const SizeNames& names);

  BuiltKernel out;
  Kernel& kernel() { return out.kernel; }

  bool has_inner() const { return outer_.size() < group_.domain.size(); }
  /// The member that computes the node; null: none.
  const Member* member_of(const ir::Node& node) const;
  /// Makes the member's value the result of that stage, for consumers that are built later.
  void set_stage(const Member& member, StageId stage) { stage_of_[member.node] = stage; }
  /// The element of the member's result at each point of the domain.
  AccessMap own_map(const Member& member) const;
  /// A bool expression: whether the member has an element at a point; none: at every point.
  ExpressionId own_guard(const Member& member);

  /// The element `map` of the value at a point: a load, or the expression that computes it.
  ExpressionId expression(const ir::Value& value, const AccessMap& map);
  /// The scalar that a member computes at a point; of a reduction, the operand to combine.
  ExpressionId point_value(const Member& member);
  /// The value for consumers: point_value(), or the result of the member's stage.
  ExpressionId member_value(const Member& member);
  ExpressionId convert(ExpressionId from, DType dtype);
  /// The expression to store for `value`: itself, or the integer that a Bitcast makes a half of.
  ExpressionId stored_bits(ExpressionId value) const;

  /// A load from the tensor that stores `value`, at `map` over the domain.
  Access access(const ir::Value& value, const AccessMap& map);
  /// A store of the expression `stored` to it.
  Access store_access(ExpressionId stored, const ir::Value& value, const AccessMap& map);
  /// Adds the dynamic `index` along `axis` of a tensor with those dims.
  void make_dynamic(Access& access, ExpressionId index, const ir::Dims& dims, std::size_t axis);
  /// `node`: the gather or scatter of a dynamic index.
  AccessId add_access(const Access& access, const ir::Node* node = nullptr);

 private:
  /// An expression that is reused for the same element under the same guard.
  struct Known {
    AccessMap map;
    ExpressionId guard, expression;
  };
  struct KnownGuard {
    std::vector<Bound> bounds;
    ExpressionId expression;
  };

  ExpressionId add(const Expression& e) { return kernel().expressions.add(e); }
  ExpressionId constant_int(std::int64_t value);
  ExpressionId constant(const ir::Node& node);
  ExpressionId bitcast(ExpressionId from, DType dtype);
  /// The integer at an access to a half.
  ExpressionId load_bits(AccessId from);
  ExpressionId apply(ir::Op op, DType dtype, ExpressionId first, ExpressionId second = {},
                     ExpressionId third = {});
  ExpressionId scalar_work(const ir::Node& node, const std::array<ExpressionId, 3>& arguments);
  ExpressionId size_value(const ir::Dim& dim);
  ExpressionId index_of(const AffineIndex& entry);
  /// A tensor whose elements are accessed as two dtypes is two operands.
  OperandId operand_of(const ir::Value& storage, DType dtype, bool written);
  Access access_as(DType dtype, const ir::Value& value, const AccessMap& map, bool written);
  ExpressionId load(Access access, const ir::Node* node = nullptr);
  /// A bool expression: whether all bounds hold; none when there are none.
  ExpressionId guard(const std::vector<Bound>& bounds);
  /// The value of the read where its bounds hold, else `otherwise` (none: 0).
  ExpressionId guarded(const OperandRead& read, ExpressionId otherwise);
  ExpressionId lower(const View& view);
  /// Rematerialises the node at a point.
  ExpressionId rematerialised(const ir::Node& node, const AccessMap& map);
  /// A term of a Dot. A Dot with a single term adds +0, as its sum starts at +0: -0 becomes +0.
  ExpressionId dot_term(const Member& member, ExpressionId lhs, ExpressionId rhs);
  ExpressionId gathered(const ir::Node& node, const IterationSpace& space);
  ExpressionId random(const ir::Node& node, const IterationSpace& space);
  IterationSpace reads_of(const Member& member) const;
  void over_domain(AffineIndex& entry) const;
  void over_domain(IterationSpace& space) const;

  const KernelGroup& group_;
  const FusionPlan& fusion_plan_;
  const SizeNames& names_;
  std::vector<int> outer_;  // axes of the domain
  std::vector<int> position_;  // of each axis of the domain in the kernel
  std::unordered_map<const ir::Node*, const Member*> members_;
  std::unordered_map<const ir::Node*, StageId> stage_of_;
  std::unordered_map<ir::Value, std::vector<Known>, ir::ValueHash> known_;
  std::vector<KnownGuard> guards_;
  ExpressionId guard_;  // of loads that are added
  /// CSE of floating-point Apply expressions by op, dtype and arguments.
  std::map<std::tuple<ir::Op, DType, std::array<ExpressionId, 3>>, ExpressionId> applied_;
};

}  // namespace kiln::codegen
