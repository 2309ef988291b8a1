#include <kiln/function.h>

#include "core/kiln/learning_phase.h"
#include "core/kiln/tensor_impl.h"
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

using runtime::Buffer;
using runtime::Program;
using DimSpans = std::vector<std::span<const std::int64_t>>;

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

Array to_array(const Buffer& buffer) {
  Array array = Array::zeros(buffer.dims(), buffer.dtype());
  buffer.copy_to_host({static_cast<std::byte*>(array.data()), array.bytes()});
  return array;
}

std::vector<const Buffer*> pointers(const std::vector<Buffer>& buffers) {
  std::vector<const Buffer*> result;
  for (const Buffer& buffer : buffers) result.push_back(&buffer);
  return result;
}

runtime::InstancePtr chosen_instance(const FunctionOptions& options) {
  if (options.backend.empty()) return runtime::current_instance("function");
  return runtime::backend_instance(options.backend, "function");
}

void require_same_dtype(const Program& program, std::size_t i, DType given) {
  if (program.binding.type(i).dtype == given) return;
  throw TypeError(program.name, program.binding.name(i),
                  text(program.binding.describe(i), " was fed a view of dtype ", given));
}

void copy_out(const Program& program, const Buffer& buffer, const MutableArrayView& view,
              std::size_t i) {
  const std::vector<std::int64_t> dims = buffer.dims();
  const bool same_dims = std::equal(dims.begin(), dims.end(), view.dims.begin(), view.dims.end());
  if (!same_dims || buffer.dtype() != view.dtype) {
    throw ValueError(program.name, "outputs",
                     text("outputs[", i, "] is ", buffer.dtype(), "[", join_text(dims, ","),
                          "] but the view is ", view.dtype, "[", join_text(view.dims, ","), "]"));
  }
  buffer.copy_to_host({static_cast<std::byte*>(view.data), buffer.bytes()});
}

}  // namespace

Function function(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const FunctionOptions& options) {
  const Call call("function", options.where);
  const ir::Graph graph = runtime::build_graph(inputs, outputs, options.updates);
  const std::string name = options.name.empty() ? "function" : options.name;
  auto impl = std::make_shared<Function::Impl>();
  const runtime::InstancePtr instance = chosen_instance(options);
  impl->backend = instance->name();
  impl->program = runtime::compile_program(graph, name, instance);
  return Function(std::move(impl));
}

std::vector<Array> Function::operator()(const std::vector<Array>& inputs) const {
  const Program& program = *require_made(impl_).program;
  program.binding.check_count(inputs.size());
  DimSpans dims;
  for (const Array& input : inputs) dims.push_back(input.dims());
  std::vector<Array> held;
  for (std::size_t i = 0; i < inputs.size(); ++i) held.push_back(converted(program, i, inputs[i]));
  program.binding.check_dims(dims);
  std::vector<Buffer> buffers;
  for (const Array& array : held) {
    buffers.push_back(program.instance->import_borrowed(array.data(), array.dtype(), array.dims()));
  }
  std::vector<Buffer> outputs(program.graph.outputs.size());
  runtime::run_call(program, pointers(buffers), outputs);
  std::vector<Array> results;
  for (const Buffer& output : outputs) results.push_back(to_array(output));
  return results;
}

void Function::call_into(std::span<const ArrayView> inputs,
                         std::span<const MutableArrayView> outputs) const {
  const Program& program = *require_made(impl_).program;
  program.binding.check_count(inputs.size());
  if (outputs.size() != program.graph.outputs.size()) {
    throw ValueError(program.name, "outputs",
                     text("gives ", program.graph.outputs.size(), " outputs but ", outputs.size(),
                          " views were given"));
  }
  DimSpans dims;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_same_dtype(program, i, inputs[i].dtype);
    dims.push_back(inputs[i].dims);
  }
  program.binding.check_dims(dims);
  std::vector<Buffer> buffers;
  for (const ArrayView& view : inputs) {
    buffers.push_back(program.instance->import_borrowed(view.data, view.dtype, view.dims));
  }
  std::vector<Buffer> results(outputs.size());
  runtime::run_call(program, pointers(buffers), results);
  for (std::size_t i = 0; i < results.size(); ++i) copy_out(program, results[i], outputs[i], i);
}

void Function::dump(const std::string& directory, Stage stages) const {
  runtime::dump_program(*require_made(impl_).program, directory, stages);
}

const std::string& Function::name() const { return require_made(impl_).program->name; }
const std::string& Function::backend() const { return require_made(impl_).backend; }

FunctionStats Function::stats() const {
  const Program& program = *require_made(impl_).program;
  return {1, program.compile_seconds, program.calls.load(std::memory_order_relaxed)};
}

Array eval(const Tensor& x, Where where) {
  const Call call("eval", where);
  value_of(x, "x");
  return function({}, {x}, {.name = "eval", .where = where})().front();
}

Array eval(const UpdateOp& x, Where where) {
  const Call call("eval", where);
  return function({}, {x.value}, {.updates = {x}, .name = "eval", .where = where})().front();
}

}  // namespace kiln
