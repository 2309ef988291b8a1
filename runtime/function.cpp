// The public Function: inputs converted to their placeholders' dtypes, then runtime/call.h.
// Every error names the line of the user's call.
#include <kiln/function.h>

#include "core/kiln/learning_phase_impl.h"
#include "core/kiln/sparse_impl.h"
#include "core/types/at_line.h"
#include "core/types/float_state.h"
#include "runtime/build_graph.h"
#include "runtime/call.h"
#include "runtime/dump.h"
#include "runtime/staged_program.h"

#include <algorithm>

namespace kiln {

struct Function::Impl {
  runtime::StagedProgram programs;
  std::string backend;
  std::vector<bool> sparse;  // of each of the user's inputs; a sparse one is three of the program's
};

namespace {

using runtime::Program;

const Function::Impl& require_made(const std::shared_ptr<const Function::Impl>& impl) {
  if (impl) return *impl;
  throw ValueError("Function", "", "an empty Function is called: it was not made by K::function");
}

/// floating point into an integer or bool placeholder would lose its fraction silently.
bool may_convert(const Array& array, const ir::Value& input) {
  if (!is_float(array.dtype()) || is_float(input.dtype())) return true;
  return input == learning_phase_placeholder();
}

Array converted(const Program& program, std::size_t i, const Array& array) {
  const DType dtype = program.binding.type(i).dtype;
  if (array.dtype() == dtype) return array;
  if (!may_convert(array, program.user_graph.inputs[i])) {
    throw TypeError(program.name, program.binding.name(i),
                    text(program.binding.describe(i), " was fed an array of dtype ",
                         array.dtype()));
  }
  return array.astype(dtype);
}

/// The three inputs of a sparse placeholder.
void append_parts(const SparseArray& sparse, std::vector<Array>& arrays) {
  arrays.push_back(sparse.indices());
  arrays.push_back(sparse.values());
  arrays.push_back(Array::zeros({sparse.dims()[0], sparse.dims()[1], 0}, DType::Bool));
}

/// What the program takes for what the user feeds.
std::vector<Array> expanded(const Function::Impl& impl, std::span<const Feed> feeds) {
  const std::string& name = impl.programs.last->name;
  if (feeds.size() != impl.sparse.size()) {
    runtime::refuse_count(name, impl.sparse.size(), feeds.size());
  }
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const bool is_sparse = feeds[i].sparse().has_value();
    if (impl.sparse[i]) {
      const Array& dense = feeds[i].array();
      if (!is_sparse && dense.rank() != 2) {
        throw ValueError(name, "inputs",
                         text("inputs[", i, "] is a sparse matrix but was fed an array of shape [",
                              join_text(dense.dims(), ","), "]"));
      }
      append_parts(is_sparse ? *feeds[i].sparse() : SparseArray::of_dense(dense), arrays);
    } else if (is_sparse) {
      throw TypeError(name, "inputs",
                      text("inputs[", i, "] is dense but was fed a SparseArray"));
    } else {
      arrays.push_back(feeds[i].array());
    }
  }
  return arrays;
}

std::vector<Array> call_with(const Function::Impl& impl, const std::vector<Array>& inputs) {
  const runtime::StagedProgram& programs = impl.programs;
  const Program& program = programs.first();
  program.binding.check_count(inputs.size());
  std::vector<Array> held;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    held.push_back(converted(program, i, inputs[i]));
  }
  std::vector<ArrayView> views;
  for (const Array& array : held) views.push_back(array.as_view());
  return runtime::call(programs, views);
}

runtime::InstancePtr chosen_instance(const FunctionOptions& options) {
  if (options.backend.empty()) return runtime::current_instance("function");
  return runtime::backend_instance(options.backend, "function");
}

FunctionStats stats_of(const Program& program) {
  const runtime::ExecutableInfo info = program.executable.info();
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  return {.compiles = 1,
          .compile_seconds = program.compile_seconds,
          .calls = program.frames.calls(),
          .code_generations = count(info.code_generations),
          .bindings = count(info.bindings),
          .peak_bytes = count(info.planned_bytes),
          .live_bytes = count(info.live_bytes)};
}

}  // namespace

Function function(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const FunctionOptions& options, Where where) try {
  const Call call("function", where);
  const ir::Graph graph = runtime::build_graph(inputs, outputs, options.updates);
  const std::string name = options.name.empty() ? "function" : options.name;
  auto impl = std::make_shared<Function::Impl>();
  for (const Tensor& input : inputs) impl->sparse.push_back(sparse_of(input) != nullptr);
  return at_line(where, [&] {
    const runtime::InstancePtr instance = chosen_instance(options);
    impl->backend = instance->plugin().id;
    impl->programs = runtime::compile_staged(graph, name, instance,
                                             runtime::wanted_dumps(options, name),
                                             options.optimize);
    return Function(std::move(impl));
  });
} catch (const std::bad_alloc&) {
  Call::out_of_memory("function", where);
}

std::vector<Array> Function::operator()(const std::vector<Array>& inputs, Where where) const try {
  return at_line(where, [&] {
    const Impl& impl = require_made(impl_);
    const bool any = std::find(impl.sparse.begin(), impl.sparse.end(), true) != impl.sparse.end();
    if (!any) return call_with(impl, inputs);
    const std::vector<Feed> feeds(inputs.begin(), inputs.end());
    return call_with(impl, expanded(impl, feeds));
  });
} catch (const std::bad_alloc&) {
  Call::out_of_memory("Function", where);
}

std::vector<Array> Function::operator()(std::initializer_list<Feed> inputs, Where where) const try {
  return at_line(where, [&] {
    const Impl& impl = require_made(impl_);
    return call_with(impl, expanded(impl, {inputs.begin(), inputs.size()}));
  });
} catch (const std::bad_alloc&) {
  Call::out_of_memory("Function", where);
}

void Function::call_into(std::span<const ArrayView> inputs,
                         std::span<const MutableArrayView> outputs, Where where) const try {
  at_line(where, [&] {
    runtime::call_into(require_made(impl_).programs, inputs, outputs);
  });
} catch (const std::bad_alloc&) {
  Call::out_of_memory("call_into", where);
}

void Function::dump(const std::string& directory, Stage stages, Where where) const try {
  at_line(where, [&] {
    const UsualFloatState usual;
    const runtime::StagedProgram& programs = require_made(impl_).programs;
    for (std::size_t i = 0; i < programs.stages.size(); ++i) {
      runtime::DumpFolder folder(runtime::stage_directory(directory, i), stages, {"dump", ""});
      runtime::dump_program(*programs.stages[i].program, folder);
    }
    runtime::DumpFolder folder(directory, stages, {"dump", ""});
    runtime::dump_program(*programs.last, folder);
  });
} catch (const std::bad_alloc&) {
  Call::out_of_memory("dump", where);
}

const std::string& Function::name() const { return require_made(impl_).programs.last->name; }
const std::string& Function::backend() const { return require_made(impl_).backend; }

FunctionStats Function::stats() const try {
  const runtime::StagedProgram& programs = require_made(impl_).programs;
  FunctionStats stats = stats_of(*programs.last);
  for (const runtime::ProgramStage& stage : programs.stages) {
    const FunctionStats other = stats_of(*stage.program);
    stats.compiles += other.compiles;
    stats.compile_seconds += other.compile_seconds;
    stats.code_generations += other.code_generations;
    stats.bindings += other.bindings;
    stats.peak_bytes = std::max(stats.peak_bytes, other.peak_bytes);
    stats.live_bytes = std::max(stats.live_bytes, other.live_bytes);
  }
  return stats;
} catch (const std::bad_alloc&) {
  Call::out_of_memory("stats", {});
}

Array eval(const Tensor& x, Where where) try {
  const Call call("eval", where);
  type_of(x);
  return function({}, {x}, {.name = "eval"}, where)({}, where).front();
} catch (const std::bad_alloc&) {
  Call::out_of_memory("eval", where);
}

Array eval(const UpdateOp& x, Where where) try {
  const Call call("eval", where);
  return function({}, {x.value}, {.updates = {x}, .name = "eval"}, where)({}, where).front();
} catch (const std::bad_alloc&) {
  Call::out_of_memory("eval", where);
}

}  // namespace kiln
