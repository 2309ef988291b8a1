// The operands, accesses and expressions of one kernel, made on demand while build_kernel.cpp makes
// its stages. Invariant: expressions stand after those they use. Maps are over the domain of the
// unit; the kernel's axes are the same ones, outer axes first.
#pragma once

#include "backends/codegen/access/points.h"
#include "backends/codegen/fusion/units.h"
#include "backends/codegen/kernel/build/built_kernel.h"

#include <map>
#include <tuple>

namespace kiln::codegen {

class KernelExpressions {
 public:
  KernelExpressions(const Unit& unit, const Units& units, const SizeNames& names);

  BuiltKernel out;
  Kernel& kernel() { return out.kernel; }

  bool has_inner() const { return outer_.size() < unit_.domain.size(); }
  /// The member that computes the node; null when none does.
  const Member* member_of(const ir::Node& node) const;
  /// From now on the member's value is the result of that stage.
  void set_stage(const Member& member, int stage) { stage_of_[member.node] = stage; }
  /// Where the member's own elements lie.
  IndexMap own_map(const Member& member) const;
  /// A bool expression: whether the member has an element at a point; -1: everywhere.
  int own_guard(const Member& member);

  /// The value at a point, loaded or computed.
  int expression(const ir::Value& value, const IndexMap& map);
  /// The element that a member has (or combines) at a point.
  int point_value(const Member& member);
  /// The value that consumers read: the member's expression, or its stage's result.
  int member_value(const Member& member);
  int convert(int from, DType dtype);

  /// An access to the tensor that holds `value`, at `map` over the domain.
  Access access(const ir::Value& value, const IndexMap& map, bool written);
  /// Makes the access one at `index` along `axis` of a tensor with those dims.
  void make_dynamic(Access& access, int index, const ir::Dims& dims, std::size_t axis);
  /// `node` asked for the dynamic index, if there is one.
  int add_access(const Access& access, const ir::Node* node = nullptr);

 private:
  struct Known {
    IndexMap map;
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
  int apply(ir::Op op, DType dtype, int first, int second = -1, int third = -1);
  int scalar_work(const ir::Node& node, const std::array<int, 3>& arguments);
  int size_value(const ir::Dim& dim);
  int index_of(const AxisMap& entry);
  int operand_number(const ir::Value& storage, bool written);
  int load(Access access, const ir::Node* node = nullptr);
  /// A bool expression: whether all bounds hold; -1 when there are none.
  int guard(const std::vector<Bound>& bounds);
  /// The value where the bounds of the read hold, else `otherwise` (-1: 0).
  int guarded(const Read& read, int otherwise);
  int make(const View& view);
  int free_value(const ir::Node& node, const IndexMap& map);
  /// A term of a Dot. Where it is the whole sum, which begins at +0, -0 becomes +0.
  int product(const Member& member, int lhs, int rhs);
  int gathered(const ir::Node& node, const Points& points);
  int random(const ir::Node& node, const Points& points);
  Points reads_of(const Member& member) const;
  void over_domain(AxisMap& entry) const;
  void over_domain(Points& points) const;

  const Unit& unit_;
  const Units& units_;
  const SizeNames& names_;
  std::vector<int> outer_;     // axes of the domain
  std::vector<int> position_;  // of each axis of the domain in the kernel
  std::unordered_map<const ir::Node*, const Member*> members_;
  std::unordered_map<const ir::Node*, int> stage_of_;
  std::unordered_map<ir::Value, std::vector<Known>, ir::ValueHash> known_;
  std::vector<KnownGuard> guards_;
  int guard_ = -1;  // of the loads that are made now
  /// CSE of floating-point Apply expressions by op, dtype and arguments.
  std::map<std::tuple<ir::Op, DType, std::array<int, 3>>, int> applied_;
};

}  // namespace kiln::codegen
