// The stages of a kernel at one outer point as text: what all forms of loops around them share.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/codegen/text/text_lines.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes stages to `lines`. The surrounding function declares what they name: an index `i<axis>`
/// for each outer axis, a pointer `b<number>` for each operand, `s64 n<number>` for each of
/// Kernel::sizes, `seed` and `call_counter`. An index outside of its limit calls
/// `fault(access, index, limit)`.
class StageText {
 public:
  StageText(const Kernel& kernel, TextLines& lines) : kernel_(kernel), lines_(lines) {}

  /// A stage with the loops of the inner axes; its result is named `r<stage>`.
  void write(int stage);
  /// A loop over the indices [begin, end) of an axis; the caller closes its block.
  void open_loop(int axis, const std::string& begin, const std::string& end);
  /// A size as an expression of type s64.
  std::string size(const ir::Dim& dim) const;

 private:
  DType dtype_of(int expression) const;
  void declare_result(int number, const Stage& stage);
  void combine(int number, const Stage& stage);
  /// Declares the expressions that the roots depend on and that the stage lacks, as `v<number>`.
  void evaluate(const std::vector<int>& roots);
  void write_store(const Store& store);

  std::string value(const Expression& e) const;
  std::string argument(const Expression& e, std::size_t i) const;
  std::string convert(const Expression& e) const;
  std::string load(const Expression& e) const;
  std::string random(const Expression& e) const;
  std::string index(const Access& access) const;
  /// When the access may touch memory; empty: always. A guard that is false hides a bad index.
  std::string condition(int access) const;
  /// "b0, element": the arguments of loads and stores.
  std::string element(int access) const;

  const Kernel& kernel_;
  TextLines& lines_;
  std::vector<bool> declared_;  // expressions that the stage has
};

}  // namespace kiln::codegen
