// One run of a kernel by the interpreter, on a range of axis 0 or at one point of the outer axes.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"

namespace kiln::test {

/// A kernel with the expressions that each stage evaluates.
struct PreparedKernel {
  codegen::Kernel kernel;
  std::vector<std::vector<int>> values, stores;  // of each stage: before combining, after
};

/// Verifies the kernel first.
PreparedKernel prepare(const codegen::Kernel& kernel);

/// Evaluates one element at a time. REQUIRES: what it is made of outlives it, and one thread uses
/// it at a time.
class KernelRun {
 public:
  /// Reads sizes once; `begin` and `end` are those of run().
  KernelRun(const PreparedKernel& prepared, const codegen::KernelArguments& arguments);

  /// All points whose index of axis 0 is in [begin, end).
  void run();
  /// The points whose indices of the first `parallel_axes` axes are the digits of `point`, counted
  /// row-major. REQUIRES: these are outer axes with extents above 0.
  void run_at(int parallel_axes, std::int64_t point);

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
  template <class Visit>
  void inner(std::size_t axis, const Visit& visit);
  void run_stage(std::size_t s);
  void combine_stage(std::size_t s);
  void finish_point(std::size_t s);

  void evaluate(const std::vector<int>& list);
  Bits value_of(const codegen::Expression& e);
  Bits argument(const codegen::Expression& e, std::size_t i) const;
  DType dtype_of(int expression) const;
  Bits random(const codegen::Expression& e) const;
  /// The address of an access; null where its guard is false, and after noting a fault.
  std::byte* element(int access_number);
  void write(const codegen::Store& store);

  const PreparedKernel& prepared_;
  const codegen::Kernel& kernel_;
  const codegen::KernelArguments& arguments_;
  std::vector<std::int64_t> extents_, index_;
  std::vector<Strides> strides_;
  std::vector<Bits> values_, results_;
};

}  // namespace kiln::test
