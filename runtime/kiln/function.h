// Compiled functions: function, eval, variables from tensors, and dumps. kiln/module.h compiles
// functions of files.
#pragma once

#include <kiln/array.h>
#include <kiln/memory.h>
#include <kiln/profile.h>
#include <kiln/random_state.h>
#include <kiln/results.h>
#include <kiln/stage.h>
#include <kiln/tensor_spec.h>
#include <kiln/update.h>
#include <kiln/variable.h>

#include <initializer_list>
#include <span>
#include <type_traits>
#include <variant>

namespace kiln {

/// Statistics of a function. With a cache hit, those of the code count all functions that share it.
struct FunctionStats {
  std::int64_t compiles = 0;  ///< modules compiled by the backend
  std::int64_t cache_hits = 0;  ///< modules with the code of an equal, earlier function
  double compile_seconds = 0;  ///< passes and backend together
  std::int64_t calls = 0;  ///< successful calls
  std::int64_t code_generations = 0;  ///< times the backend generated code; not per input size
  std::int64_t bindings = 0;  ///< input sizes that the code was prepared for
  std::int64_t peak_bytes = 0;  ///< largest memory plan of a call's temporary tensors
  std::int64_t live_bytes = 0;  ///< lower bound for it: most bytes live at the same time
  ArrayMemory arrays;  ///< of the whole process
};

/// The value of a placeholder: an Array, or for a sparse placeholder also a SparseArray. A Feed
/// owns its value: writing to the source Array does not change it.
class KILN_API Feed {
 public:
  template <class T, std::enable_if_t<std::is_convertible_v<T&&, Array>, int> = 0>
  Feed(T&& array)  // NOLINT: implicit on purpose
      : value_(std::in_place_type<Array>, std::forward<T>(array)) {}
  Feed(SparseArray sparse) : value_(std::move(sparse)) {}  // NOLINT
  /// REQUIRES: sparse() is null.
  const Array& array() const { return std::get<Array>(value_); }
  /// The sparse matrix, or null.
  const SparseArray* sparse() const { return std::get_if<SparseArray>(&value_); }

 private:
  std::variant<Array, SparseArray> value_;
};

/// An element of a braced list of feeds, f({x, 2.5}): refers to an Array, SparseArray or Feed
/// without a copy, or owns the Array converted from another value. REQUIRES: used as a temporary
/// only.
class KILN_API FeedRef {
 public:
  FeedRef(const Array& array) : value_(&array) {}  // NOLINT: implicit on purpose
  FeedRef(const SparseArray& sparse) : value_(&sparse) {}  // NOLINT
  FeedRef(const Feed& feed)  // NOLINT
      : value_(feed.sparse() ? Value(feed.sparse()) : Value(&feed.array())) {}
  template <class T, std::enable_if_t<std::is_convertible_v<T&&, Array> &&
                                          !std::is_same_v<std::decay_t<T>, Array>,
                                      int> = 0>
  FeedRef(T&& value) : value_(std::in_place_type<Array>, std::forward<T>(value)) {}  // NOLINT
  FeedRef(const FeedRef&) = delete;
  FeedRef& operator=(const FeedRef&) = delete;

  /// REQUIRES: sparse() is null.
  const Array& array() const {
    const auto* const* array = std::get_if<const Array*>(&value_);
    return array ? **array : std::get<Array>(value_);
  }
  /// The sparse matrix, or null.
  const SparseArray* sparse() const {
    const auto* const* sparse = std::get_if<const SparseArray*>(&value_);
    return sparse ? *sparse : nullptr;
  }

 private:
  using Value = std::variant<const Array*, const SparseArray*, Array>;  // two borrowed, one owned
  Value value_;
};

/// A compiled function from arrays in the order of its inputs to arrays in the order of its
/// outputs. Copies share the compiled code. Threads: calls may run concurrently; those that update
/// the same variable run one after the other.
class KILN_API Function {
 public:
  Function() = default;

  /// Calls the function. Casts each input to its placeholder's dtype as NumPy's astype: floating
  /// point to an integer truncates, bool is x != 0. Updates are computed from the variables' values
  /// before the call and published together after it; a call that throws changes no variable.
  /// Errors: ValueError for a wrong number or shape of inputs, for a failed guard, and naming
  /// input, index and value for a NaN, an infinity or a number out of range fed to an integer
  /// placeholder; FloatingPointError with FunctionOptions::check_numerics; OutOfMemory;
  /// BackendError and other errors that the backend reports.
  Results<Array> operator()(const std::vector<Array>& inputs = {},
                            Where where = Where::here()) const;
  /// As above, also with sparse placeholders; an Array fed to one is converted, element by element.
  /// Errors: also TypeError for a SparseArray fed to a dense placeholder.
  Results<Array> operator()(std::initializer_list<FeedRef> inputs,
                            Where where = Where::here()) const;
  /// As above, for std::vector<Feed> and std::vector<SparseArray>.
  template <
      class Input,
      std::enable_if_t<std::is_same_v<Input, Feed> || std::is_same_v<Input, SparseArray>, int> = 0>
  Results<Array> operator()(const std::vector<Input>& inputs, Where where = Where::here()) const {
    return call_with_feeds(std::span<const Input>(inputs), where);
  }

  /// Calls the function on the caller's memory, which has exactly the dtypes and shapes of the
  /// placeholders and results and is read and written in place. Allocates nothing from the second
  /// call with the same sizes on, whatever the sizes of calls in between (on `cpu`, as long as what
  /// it prepared for all sizes fits in 64 MiB), except for small blocks inside oneDNN. Outputs may
  /// overlap inputs and each other, in which case the last output wins, and elements may be
  /// misaligned: such calls go through copies. Bytes of a bool input other than 0 and 1 count as 1,
  /// through a copy that later calls reuse. A sparse placeholder takes three views: indices int64
  /// (count, 2), values (count), and a bool (rows, columns, 0) without elements. After an error the
  /// contents of the outputs are unspecified. Errors: as for a call, and TypeError for a view of
  /// another dtype.
  void call_into(std::span<const ArrayView> inputs, std::span<const MutableArrayView> outputs,
                 Where where = Where::here()) const;

  /// Writes numbered files into `directory`, created if missing: the host's stages of compiling,
  /// and the current state of the backend's. LLVM IR and assembly are not kept: they are produced
  /// again from the kernels that run. Errors: IoError.
  void dump(const StringArgument& directory, Stage stages = Stage::All,
            Where where = Where::here()) const;

  /// Measures calls from now on until the Profiler is stopped or destroyed; print its result() for
  /// the time of each step, layer, line and K function. KILN_PROFILE=file measures all functions of
  /// a program, for `kiln profile`. A backend without times has none in its profile, which says so.
  /// Errors: BackendError for a backend that breaks the format of profiles.
  ///     const auto x = K::placeholder({.shape = {K::None}});
  ///     const auto f = K::function({x}, {2 * x});
  ///     const auto profiler = f.profile();
  ///     f({K::Array{1.f, 2.f}});
  ///     profiler.result().calls;  // 1
  [[nodiscard]] Profiler profile(Where where = Where::here()) const;

  const std::string& name() const&;
  std::string name() const&& { return name(); }  ///< a reference into a temporary would dangle
  /// The backend that the function was compiled for.
  const std::string& backend() const&;
  std::string backend() const&& { return backend(); }
  FunctionStats stats() const;
  /// Describes the inputs, in the order of a call. An input is named as its placeholder; without a
  /// name it is "input_1" for number 1; an input with the name of an earlier one is "x~2".
  ///     const auto x = K::placeholder({.shape = {K::None, 2}, .name = "x"});
  ///     K::function({x}, {K::sum(x)}).inputs();  // {x float32[None,2]}
  Results<TensorSpec> inputs() const;
  /// Describes the outputs. An output is named as its tensor, variable or placeholder; without a
  /// name it is "output_0" for number 0. Names are distinct as those of inputs.
  ///     const auto x = K::placeholder({.shape = {K::None, 2}});
  ///     K::function({x}, {K::sum(x, {.axis = 1})}).outputs();  // {output_0 float32[None]}
  Results<TensorSpec> outputs() const;
  /// Returns the variables that the function updates, in the order of the updates, then others that
  /// it reads: for load_weights and save_weights.
  ///     const auto w = K::variable({1., 2.}, {.name = "w"});
  ///     const auto f = K::function({}, {K::sum(w)});
  ///     K::set_value(f.variables()[0], {3, 4});
  ///     f()[0];  // 7.0
  Results<Tensor> variables() const;
  explicit operator bool() const { return impl_ != nullptr; }

  struct Impl;
  explicit Function(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  Results<Array> call_with_feeds(std::span<const Feed> inputs, Where where) const;
  Results<Array> call_with_feeds(std::span<const SparseArray> inputs, Where where) const;

  std::shared_ptr<const Impl> impl_;
};

struct FunctionOptions {
  std::vector<UpdateOp> updates = {};
  /// Outputs read the variables' values after the call's updates instead of before them. Updates
  /// always read the values before.
  Flag outputs_after_updates = false;
  StringArgument name = {};  ///< for messages and dumps; unset: "function"
  StringArgument backend = {};  ///< unset: the backend in use (kiln/backend.h)
  /// A directory, created if missing, for numbered files of `dump_stages`, written during
  /// compiling; times of calls are written when the function is destroyed. Unset:
  /// KILN_DUMP=dir[:stage,...] dumps all functions, each to a folder dir/fn-NNN-name. Errors:
  /// IoError.
  StringArgument dump = {};
  Stage dump_stages = Stage::All;
  /// False disables Kiln's graph passes: the backend gets the graph as written and applies only its
  /// own passes, of which `reference` has none. For debugging: if results differ from an optimized
  /// function's, one of the two is wrong. Calls are slower. KILN_DISABLE=all does so for every
  /// function; KILN_DISABLE=simplify,fuse_epilogues disables the passes of those names, including
  /// optional ones of a backend, which functions on other backends ignore.
  /// KILN_DISABLE=executable_cache compiles every program, even one that equals an earlier one or,
  /// in eval, differs from it in sizes, seeds and constants only.
  Flag optimize = true;
  /// Checks every floating-point value that the function computes, to find the op where a training
  /// diverges. A call that computes a NaN or an infinity throws a FloatingPointError, and no
  /// variable changes. The error names the op, the K function and the line that made it, the value
  /// and index of the first such element in row-major order, the dtype and shape, the number of
  /// such elements, and in a loop the step: its index along the sequence. Ops are those of the
  /// graph as written, before the passes; those of a gradient have the line of the function that
  /// they differentiate. The operands of an op are checked before it, so the named op is where the
  /// values began. Of several such ops, the first in the order of evaluation is named: that of the
  /// graph as written (00-user.kir of `dump`), except where the backend computes several together.
  ///
  /// Inputs and variables must be finite, too, but constants need not: a mask of -infinity before a
  /// softmax, and infinities computed from it, are accepted, a NaN computed from it is not. An
  /// element that `switch_` discards counts as any other: write log(switch_(x > 0, x, 1)), whose
  /// gradient is finite, in place of switch_(x > 0, log(x), 0).
  ///
  /// Calls are many times slower: the host reads every value, and nothing is fused. Values of
  /// float16 and bfloat16 are rounded where fused ops would keep float32, so results may differ in
  /// their last bits, and may overflow sooner. Needs a backend with host calls, as print_tensor.
  Flag check_numerics = false;  // as TensorFlow's tf.debugging.enable_check_numerics
  /// Counts the calls that draw. Unset: the state of the RandomScope, else the process's.
  std::optional<RandomState> random = {};
};

/// Compiles `outputs` and `updates` as a function of `inputs`. `inputs` are distinct placeholders;
/// learning_phase() is 0 unless it is one of them. Inputs that no result depends on, and an empty
/// list of outputs, are allowed.
/// Errors: TypeError for an input that is not a placeholder; ValueError for an input given twice,
/// for a placeholder that a result depends on and that is not an input, for two updates of one
/// variable; NotImplementedError naming ops that the backend does not support; BackendError.
///     const auto x = K::placeholder({.shape = {K::None}});
///     K::function({x}, {2 * x})({K::Array{1.f, 2.f}})[0];  // [2. 4.]
///     const auto w = K::zeros({});
///     K::function({}, {w}, {.updates = {K::update_add(w, 1)}})()[0];  // 0.0
[[nodiscard]] KILN_API Function function(const std::vector<Tensor>& inputs,
                                         const std::vector<Tensor>& outputs,
                                         const FunctionOptions& options = {},
                                         Where where = Where::here());

/// Evaluates a tensor that depends on no placeholder. Errors: as for function. A list does not
/// compile: eval({w, x}) would execute the update w := x.
///     const auto x = K::constant({1., 2.});
///     K::eval(x + 1);  // [2. 3.]
KILN_API Array eval(const Tensor& x, Where where = Where::here());
Array eval(std::initializer_list<Tensor> xs, Where where = Where::here()) = delete;
/// Executes an update and returns the variable's new value. Errors: as for function.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update_add(x, 1));  // [2. 3.]
KILN_API Array eval(const UpdateOp& x, Where where = Where::here());

/// Creates a variable with the value of a tensor, evaluated now and cast to `dtype` as for an array
/// (kiln/variable.h). Errors: also ValueError if the tensor depends on a placeholder.
///     const auto weights = K::variable(K::ones({2}) + 1);
///     K::get_value(weights);  // [2. 2.]
[[nodiscard]] KILN_API Variable variable(const Tensor& value, const VariableOptions& options = {},
                                         Where where = Where::here());

}  // namespace kiln
