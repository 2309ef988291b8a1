#include <kiln/function.h>

#include "core/kiln/learning_phase.h"
#include "core/kiln/tensor_impl.h"
#include "core/types/at_line.h"
#include "runtime/build_graph.h"
#include "runtime/call.h"
#include "runtime/dump.h"
#include "runtime/program.h"

namespace kiln {

struct Function::Impl {
  std::shared_ptr<const runtime::Program> program;
  std::string backend;
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

runtime::InstancePtr chosen_instance(const FunctionOptions& options) {
  if (options.backend.empty()) return runtime::current_instance("function");
  return runtime::backend_instance(options.backend, "function");
}

}  // namespace

Function function(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const FunctionOptions& options, Where where) {
  const Call call("function", where);
  const ir::Graph graph = runtime::build_graph(inputs, outputs, options.updates);
  const std::string name = options.name.empty() ? "function" : options.name;
  auto impl = std::make_shared<Function::Impl>();
  return at_line(where, [&] {
    const runtime::InstancePtr instance = chosen_instance(options);
    impl->backend = instance->name();
    impl->program = runtime::compile_program(graph, name, instance,
                                             runtime::wanted_dumps(options, name));
    return Function(std::move(impl));
  });
}

std::vector<Array> Function::operator()(const std::vector<Array>& inputs, Where where) const {
  return at_line(where, [&] {
    const Program& program = *require_made(impl_).program;
    program.binding.check_count(inputs.size());
    std::vector<Array> held;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      held.push_back(converted(program, i, inputs[i]));
    }
    std::vector<ArrayView> views;
    for (const Array& array : held) views.push_back(array.as_view());
    return runtime::call(program, views);
  });
}

void Function::call_into(std::span<const ArrayView> inputs,
                         std::span<const MutableArrayView> outputs, Where where) const {
  at_line(where, [&] {
    runtime::call_into(*require_made(impl_).program, inputs, outputs);
  });
}

void Function::dump(const std::string& directory, Stage stages, Where where) const {
  at_line(where, [&] {
    const Program& program = *require_made(impl_).program;
    runtime::DumpFolder folder(directory, stages, {"dump", ""});
    runtime::dump_program(program, folder);
  });
}

const std::string& Function::name() const { return require_made(impl_).program->name; }
const std::string& Function::backend() const { return require_made(impl_).backend; }

FunctionStats Function::stats() const {
  const Program& program = *require_made(impl_).program;
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

Array eval(const Tensor& x, Where where) {
  const Call call("eval", where);
  value_of(x, "x");
  return function({}, {x}, {.name = "eval"}, where)({}, where).front();
}

Array eval(const UpdateOp& x, Where where) {
  const Call call("eval", where);
  return function({}, {x.value}, {.updates = {x}, .name = "eval"}, where)({}, where).front();
}

}  // namespace kiln
