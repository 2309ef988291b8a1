// The inputs of one call as its program takes them: the user's feeds, cast to their placeholders'
// dtypes, each sparse one as its three parts.
#pragma once

#include "runtime/function/compile/compiled_program.h"

#include <kiln/array.h>
#include <kiln/sparse_array.h>

#include <cstddef>
#include <forward_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace kiln::runtime {

/// Casts a feed to the dtype of input i. `part`: of a sparse input, for the message of a
/// ValueError.
Array converted(const CompiledProgram& program, std::size_t i, const Array& array,
                const char* part = "");

/// The inputs of a program as views with its dtypes, valid as long as the object and the user's
/// arrays. Refers to the user's Arrays: copying one may be a deep copy.
class CallInputs {
 public:
  explicit CallInputs(const CompiledProgram& program) : program_(program) {
    if (program.binding.count() <= kFew) return;
    many_.resize(program.binding.count());
    views_ = many_.data();
  }
  CallInputs(const CallInputs&) = delete;
  CallInputs& operator=(const CallInputs&) = delete;

  /// REQUIRES: the program has a further input.
  void add(const Array& array) {
    const bool fits = array.dtype() == program_.binding.type(count_).dtype;
    const Array& fed = fits ? array : keep(converted(program_, count_, array));
    std::construct_at(views_ + count_++, fed.as_view());
  }
  void add(Array&& temporary) { add(keep(std::move(temporary))); }

  std::size_t size() const { return count_; }
  std::span<const ArrayView> views() const { return {views_, count_}; }

 private:
  const Array& keep(Array&& array) { return temporaries_.emplace_front(std::move(array)); }

  const CompiledProgram& program_;
  static constexpr std::size_t kFew = 8;
  /// Not initialised: constructing 8 views takes a tenth of a small call.
  alignas(ArrayView) std::byte few_[kFew * sizeof(ArrayView)];
  std::vector<ArrayView> many_;
  ArrayView* views_ = reinterpret_cast<ArrayView*>(few_);  // of few_ or many_
  std::size_t count_ = 0;
  std::forward_list<Array> temporaries_;  // a list, for stable addresses
};

/// Adds the three inputs of a sparse placeholder: indices, values, extent.
void add_parts(const CompiledProgram& program, const SparseArray& sparse, CallInputs& arrays);
/// As above, for a matrix without zeros left out. `feed`: its number among the user's inputs, for
/// the ValueError for an array that is no matrix.
void add_parts(const CompiledProgram& program, const Array& dense, std::size_t feed,
               CallInputs& arrays);

}  // namespace kiln::runtime
