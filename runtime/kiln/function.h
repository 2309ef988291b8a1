// Compiled functions: group J's `function`, `eval`, what evaluates a tensor, and looking inside.
#pragma once

#include <kiln/array.h>
#include <kiln/memory.h>
#include <kiln/stage.h>
#include <kiln/update.h>
#include <kiln/variable.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>

namespace kiln {

struct FunctionStats {
  std::int64_t compiles = 0;       ///< modules compiled by the backend
  std::int64_t cache_hits = 0;     ///< modules whose code an equal, earlier function had; counts of
                                   ///< the code below are then those of all functions that have it
  double compile_seconds = 0;      ///< passes and backend together
  std::int64_t calls = 0;          ///< calls that succeeded
  std::int64_t code_generations = 0;  ///< times the backend generated code: sizes do not
  std::int64_t bindings = 0;       ///< tuples of sizes that it made ready
  std::int64_t peak_bytes = 0;     ///< most memory planned for the temporary tensors of a call
  std::int64_t live_bytes = 0;     ///< as much of it as is alive at one time
  ArrayMemory arrays;              ///< of the whole process
};

/// A placeholder is fed an Array, or a SparseArray when it is sparse. A Feed has its own value:
/// writing to the Array that it was made from does not change it.
class KILN_API Feed {
 public:
  template <class T, std::enable_if_t<std::is_convertible_v<T&&, Array>, int> = 0>
  Feed(T&& array) : array_(std::forward<T>(array)) {}               // NOLINT: implicit on purpose
  Feed(SparseArray sparse) : sparse_(std::move(sparse)) {}          // NOLINT
  const Array& array() const { return array_; }
  const std::optional<SparseArray>& sparse() const { return sparse_; }

 private:
  Array array_;
  std::optional<SparseArray> sparse_;
};

/// An element of a call's braces, as in f({x, 2.5}): refers to an Array, SparseArray or Feed, which
/// is not copied, or holds the Array made of another value. REQUIRES: it lives within the call.
class KILN_API FeedRef {
 public:
  FeedRef(const Array& array) : array_(&array) {}                   // NOLINT: implicit on purpose
  FeedRef(const SparseArray& sparse) : sparse_(&sparse) {}          // NOLINT
  FeedRef(const Feed& feed)                                         // NOLINT
      : array_(&feed.array()), sparse_(feed.sparse() ? &*feed.sparse() : nullptr) {}
  template <class T, std::enable_if_t<std::is_convertible_v<T&&, Array> &&
                                          !std::is_same_v<std::decay_t<T>, Array>, int> = 0>
  FeedRef(T&& value) : made_(std::forward<T>(value)), array_(&*made_) {}  // NOLINT
  FeedRef(const FeedRef&) = delete;
  FeedRef& operator=(const FeedRef&) = delete;

  /// REQUIRES: sparse() is null.
  const Array& array() const { return *array_; }
  const SparseArray* sparse() const { return sparse_; }

 private:
  std::optional<Array> made_;
  const Array* array_ = nullptr;
  const SparseArray* sparse_ = nullptr;
};

/// A compiled function: takes arrays in the order of its inputs, gives arrays in the order of its
/// outputs. Copies share the compiled code. Calls may run on any number of threads at once; those
/// that update a variable wait for each other.
class KILN_API Function {
 public:
  Function() = default;

  /// Each input is cast to its placeholder's dtype as NumPy's astype does: floating point to an
  /// integer truncates, bool is x != 0. Updates are computed from the state before the call and
  /// become visible together after it succeeded; a call that throws changes nothing.
  /// Errors: ValueError for a wrong number or shape of inputs, for a failed guard, and for NaN, an
  /// infinity or a number out of range fed to an integer placeholder, naming input, index and
  /// value; what the backend reports.
  std::vector<Array> operator()(const std::vector<Array>& inputs = {},
                                Where where = Where::here()) const;
  /// The same, for sparse placeholders, too; an Array that such a one is fed is searched for
  /// elements that are not 0. Errors: also TypeError for a SparseArray fed to a dense one.
  std::vector<Array> operator()(std::initializer_list<FeedRef> inputs,
                                Where where = Where::here()) const;
  /// The same for std::vector<Feed> and std::vector<SparseArray>.
  template <class Input, std::enable_if_t<std::is_same_v<Input, Feed> ||
                                              std::is_same_v<Input, SparseArray>, int> = 0>
  std::vector<Array> operator()(const std::vector<Input>& inputs,
                                Where where = Where::here()) const {
    return call_with_feeds(std::span<const Input>(inputs), where);
  }

  /// The form that allocates nothing from the second call with the same sizes on, but for small
  /// blocks that oneDNN asks for: inputs and outputs are the caller's memory, of exactly the
  /// placeholders' and the results' dtypes and shapes, read and written in place. Outputs may lie
  /// over inputs, and elements at odd addresses: such calls go through copies. A bool input's bytes
  /// other than 0 and 1 count as 1, from a copy that later calls use again. A sparse placeholder
  /// takes three views: indices int64 (count, 2), values (count), and a bool (rows, columns, 0)
  /// without elements. What a call that throws leaves in the outputs is not specified.
  void call_into(std::span<const ArrayView> inputs,
                 std::span<const MutableArrayView> outputs,
                 Where where = Where::here()) const;

  /// Writes numbered files into `directory` (made when missing): what the function was made from,
  /// and what its backend has of it now. LLVM IR and assembly are not kept: the very kernels that
  /// run are taken through LLVM again for them. Errors: IoError.
  void dump(const std::string& directory, Stage stages = Stage::All,
            Where where = Where::here()) const;

  const std::string& name() const;
  /// The backend that it was compiled for.
  const std::string& backend() const;
  FunctionStats stats() const;
  explicit operator bool() const { return impl_ != nullptr; }

  struct Impl;
  explicit Function(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::vector<Array> call_with_feeds(std::span<const Feed> inputs, Where where) const;
  std::vector<Array> call_with_feeds(std::span<const SparseArray> inputs, Where where) const;

  std::shared_ptr<const Impl> impl_;
};

struct FunctionOptions {
  std::vector<UpdateOp> updates = {};
  /// The outputs see the variables' values after this call's updates instead of those before it.
  /// The updates see those before it in either case.
  bool outputs_after_updates = false;
  std::string name = {};     ///< for messages and dumps; unset: "function"
  std::string backend = {};  ///< unset: the backend in use (kiln/backend.h)
  /// A directory (made when missing) for numbered files of `dump_stages`, written as they come to
  /// be; times of calls when the function goes away. Unset: KILN_DUMP=dir[:stage,...] does it for
  /// all functions, each in a folder dir/fn-NNN-name. Errors: IoError.
  std::string dump = {};
  Stage dump_stages = Stage::All;
  /// False leaves out every graph pass of Kiln, so that the graph crosses to the backend as it was
  /// written; a backend still makes its own changes, and `reference` makes none. For debugging: a
  /// result that differs from that of an optimized function is wrong in one of them. Calls are
  /// slower. The environment variable KILN_DISABLE=all does the same for every function, and
  /// KILN_DISABLE=simplify,absorb_kernels leaves out the passes of those names alone, the backend's
  /// optional ones among them. KILN_DISABLE=executable_cache compiles each program, even one that
  /// equals an earlier one or, called by eval, differs from it in sizes, seeds and constants alone.
  bool optimize = true;
};

/// Compiles `outputs` and `updates` as a function of `inputs`.
/// `inputs` are placeholders (learning_phase() among them when it is fed; else it is 0); inputs
/// that nothing depends on are fine. Zero outputs are allowed.
/// Errors: TypeError for an input that is no placeholder; ValueError for an input given twice, for
/// a placeholder that an output needs and that is not an input, for two updates of one variable;
/// NotImplementedError naming ops that the backend lacks; BackendError.
///     const auto x = K::placeholder({.shape = {K::None}});
///     K::function({x}, {2 * x})({K::Array{1.f, 2.f}})[0];  // [2. 4.]
///     const auto w = K::zeros({});
///     K::function({}, {w}, {.updates = {K::update_add(w, 1)}})()[0];  // 0.0
KILN_API Function function(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                           const FunctionOptions& options = {}, Where where = Where::here());

/// The value of a tensor that depends on no placeholder.
///     const auto x = K::constant({1., 2.});
///     K::eval(x + 1);  // [2. 3.]
KILN_API Array eval(const Tensor& x, Where where = Where::here());
/// Executes an update and gives the variable's new value.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update_add(x, 1));  // [2. 3.]
KILN_API Array eval(const UpdateOp& x, Where where = Where::here());

/// A variable whose value is that of a tensor, evaluated now and cast to `dtype` as for an array
/// (kiln/variable.h). Errors: also ValueError when the tensor depends on a placeholder.
///     const auto weights = K::variable(K::ones({2}) + 1);
///     K::get_value(weights);  // [2. 2.]
KILN_API Variable variable(const Tensor& value, const VariableOptions& options = {},
                           Where where = Where::here());

}  // namespace kiln
