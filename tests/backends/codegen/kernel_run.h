// One run of a kernel by the interpreter: on a range of axis 0, at one outer point, or at one inner
// point of a stage.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"

#include <functional>
#include <optional>

namespace kiln::test {

/// A kernel with the expressions that each stage evaluates.
struct PreparedKernel {
  codegen::Kernel kernel;
  using Lists = IdVector<codegen::StageId, std::vector<codegen::ExpressionId>>;
  Lists values, stores;  // before combining, after
  Lists indices;  // of its stores: dynamic indices and guards
};

/// Prepares a kernel, which it verifies first.
PreparedKernel prepare(const codegen::Kernel& kernel);

/// Whether a float result depends on the order in which points are combined.
bool sums_floats(const codegen::Kernel& kernel);

/// Combines two values by a combiner other than arg_max.
std::uint64_t combined(codegen::Combiner combiner, DType dtype, std::uint64_t x, std::uint64_t y);
/// Whether arg_max takes x rather than the best value so far: it is larger, or the first NaN.
bool is_above(std::uint64_t x, std::uint64_t best, DType dtype);

/// Evaluates one element at a time. REQUIRES: the arguments of the constructor outlive the object;
/// one thread uses it at a time.
class KernelRun {
 public:
  /// Reads sizes once; `begin` and `end` are those of run().
  KernelRun(const PreparedKernel& prepared, const codegen::KernelArguments& arguments);

  /// From here on float32 sums are rounded after each addition; before, only at their end.
  void round_partial_sums() { rounds_partial_sums_ = true; }

  /// Runs all points whose index of axis 0 is in [begin, end).
  void run();

  /// Calls visit() at each outer point whose indices of `axes` are the digits of `number`, counted
  /// row-major; the others run in order. REQUIRES: these are outer axes with extents above 0.
  void visit_outer(const std::vector<int>& axes, std::int64_t number,
                   const std::function<void()>& visit);
  /// The number of the outer point among all of them.
  std::int64_t outer_number() const;
  /// Runs all stages at the outer point.
  void run_stages();

  /// The extents of the axes.
  const std::vector<std::int64_t>& extents() const { return extents_; }
  /// The product of the inner extents.
  std::int64_t inner_points() const;
  /// Goes to an inner point, counted row-major.
  void move_to(std::int64_t inner_point);
  /// The value that a stage combines, at the point.
  std::uint64_t value_at_point(codegen::StageId stage);
  /// The dynamic index of the first store of a stage at the point; none where its guard is false.
  std::optional<std::int64_t> index_at_point(codegen::StageId stage);
  /// Evaluates the stores of a stage at the point.
  void finish_point(codegen::StageId stage);
  void set_result(codegen::StageId stage, std::uint64_t bits) { results_[stage] = bits; }

 private:
  using Bits = std::uint64_t;
  struct Strides {
    std::int64_t offset;
    std::vector<std::int64_t> axes;
    std::int64_t dynamic, limit;
  };

  std::int64_t size(const ir::Dim& dim) const;
  /// The loops of the outer axes from `axis` on.
  void outer(int axis, std::int64_t begin, std::int64_t end);
  void outer(int axis);
  /// The loops of axes[depth], axes[depth + 1], ...
  void loop(const std::vector<int>& axes, std::size_t depth, const std::function<void()>& visit);
  template <class Visit>
  void inner(std::size_t axis, const Visit& visit);
  void run_stage(codegen::StageId s);
  void combine_stage(codegen::StageId s);

  void evaluate(const std::vector<codegen::ExpressionId>& list);
  Bits value_of(const codegen::Expression& e);
  Bits argument(const codegen::Expression& e, std::size_t i) const;
  DType dtype_of(codegen::ExpressionId expression) const;
  Bits random(const codegen::Expression& e) const;
  std::int64_t index_of(const codegen::Access& access) const;
  /// The address of an access; null where its guard is false, or its index is out of range.
  std::byte* element(codegen::AccessId id);
  void write(const codegen::Store& store);

  const PreparedKernel& prepared_;
  const codegen::Kernel& kernel_;
  const codegen::KernelArguments& arguments_;
  std::vector<std::int64_t> extents_, index_;
  IdVector<codegen::AccessId, Strides> strides_;
  IdVector<codegen::ExpressionId, Bits> values_;
  IdVector<codegen::StageId, Bits> results_;
  bool rounds_partial_sums_ = false;
};

}  // namespace kiln::test
