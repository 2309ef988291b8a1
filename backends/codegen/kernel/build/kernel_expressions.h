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
  void set_stage(const Member& member, int stage) { stage_of_[member.node] = stage; }
  /// The element of the member's result at each point of the domain.
  AccessMap own_map(const Member& member) const;
  /// A bool expression: whether the member has an element at a point; -1: at every point.
  int own_guard(const Member& member);

  /// The element `map` of the value at a point: a load, or the expression that computes it.
  int expression(const ir::Value& value, const AccessMap& map);
  /// The scalar that a member computes at a point; of a reduction, the operand to combine.
  int point_value(const Member& member);
  /// The value for consumers: point_value(), or the result of the member's stage.
  int member_value(const Member& member);
  int convert(int from, DType dtype);
  /// The expression to store for `value`: itself, or the integer that a Bitcast makes a half of.
  int stored_bits(int value) const;

  /// A load from the tensor that stores `value`, at `map` over the domain.
  Access access(const ir::Value& value, const AccessMap& map);
  /// A store of the expression `stored` to it.
  Access store_access(int stored, const ir::Value& value, const AccessMap& map);
  /// Adds the dynamic `index` along `axis` of a tensor with those dims.
  void make_dynamic(Access& access, int index, const ir::Dims& dims, std::size_t axis);
  /// `node`: the gather or scatter of a dynamic index.
  int add_access(const Access& access, const ir::Node* node = nullptr);

 private:
  /// An expression that is reused for the same element under the same guard.
  struct Known {
    AccessMap map;
    int guard;
    int expression;
  };
  struct KnownGuard {
    std::vector<Bound> bounds;
    int expression;
  };

  int add(Expression expression);
  int constant_int(std::int64_t value);
  int constant(const ir::Node& node);
  int bitcast(int from, DType dtype);
  /// The integer at an access to a half.
  int load_bits(int number);
  int apply(ir::Op op, DType dtype, int first, int second = -1, int third = -1);
  int scalar_work(const ir::Node& node, const std::array<int, 3>& arguments);
  int size_value(const ir::Dim& dim);
  int index_of(const AffineIndex& entry);
  /// A tensor whose elements are accessed as two dtypes is two operands.
  int operand_number(const ir::Value& storage, DType dtype, bool written);
  Access access_as(DType dtype, const ir::Value& value, const AccessMap& map, bool written);
  int load(Access access, const ir::Node* node = nullptr);
  /// A bool expression: whether all bounds hold; -1 when there are none.
  int guard(const std::vector<Bound>& bounds);
  /// The value of the read where its bounds hold, else `otherwise` (-1: 0).
  int guarded(const OperandRead& read, int otherwise);
  int lower(const View& view);
  /// Rematerialises the node at a point.
  int rematerialised(const ir::Node& node, const AccessMap& map);
  /// A term of a Dot. A Dot with a single term adds +0, as its sum starts at +0: -0 becomes +0.
  int dot_term(const Member& member, int lhs, int rhs);
  int gathered(const ir::Node& node, const IterationSpace& space);
  int random(const ir::Node& node, const IterationSpace& space);
  IterationSpace reads_of(const Member& member) const;
  void over_domain(AffineIndex& entry) const;
  void over_domain(IterationSpace& space) const;

  const KernelGroup& group_;
  const FusionPlan& fusion_plan_;
  const SizeNames& names_;
  std::vector<int> outer_;  // axes of the domain
  std::vector<int> position_;  // of each axis of the domain in the kernel
  std::unordered_map<const ir::Node*, const Member*> members_;
  std::unordered_map<const ir::Node*, int> stage_of_;
  std::unordered_map<ir::Value, std::vector<Known>, ir::ValueHash> known_;
  std::vector<KnownGuard> guards_;
  int guard_ = -1;  // of loads that are added
  /// CSE of floating-point Apply expressions by op, dtype and arguments.
  std::map<std::tuple<ir::Op, DType, std::array<int, 3>>, int> applied_;
};

}  // namespace kiln::codegen
