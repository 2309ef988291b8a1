// The plugin entry: op support, compilation, and calls.
#include "backends/reference/inspect.h"
#include "backends/reference/node_trace.h"

#include "core/ops/op.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>

namespace kiln::reference {
namespace {

/// A result buffer that owns a tensor of the interpreter.
class TensorBuffer final : public sdk::Buffer {
 public:
  explicit TensorBuffer(Tensor tensor)
      : Buffer(static_cast<std::uint32_t>(tensor.dtype), tensor.dims), tensor_(std::move(tensor)) {}
  const void* host_data() const override { return tensor_.data.get(); }
  void copy_to_host(void* destination) const override {
    if (tensor_.count != 0) std::memcpy(destination, tensor_.data.get(), tensor_.bytes());
  }

 private:
  Tensor tensor_;
};

Tensor tensor_of(const sdk::Buffer& buffer) {
  return Tensor::borrowed(static_cast<DType>(buffer.dtype()),
                          {buffer.dims().begin(), buffer.dims().end()}, buffer.host_data());
}

/// A deep copy.
Tensor copy_of(const Tensor& tensor) {
  Tensor copy = Tensor::allocate(tensor.dtype, tensor.dims);
  if (tensor.count != 0) std::memcpy(copy.data.get(), tensor.data.get(), tensor.bytes());
  return copy;
}

/// Delivers a result to the host: to the given buffer, or as a new one.
class ResultWriter {
 public:
  /// Checks the given buffer, or allocates a new one. Throws sdk::Failure; write() cannot fail.
  ResultWriter(const Tensor& tensor, sdk::Result& result) : tensor_(tensor), result_(result) {
    if (!result.given) {
      buffer_ = std::make_unique<TensorBuffer>(copy_of(tensor));
      return;
    }
    target_ = dynamic_cast<sdk::HostBuffer*>(result.given);
    const bool fits = target_ && target_->dtype() == static_cast<std::uint32_t>(tensor.dtype) &&
                      std::equal(target_->dims().begin(), target_->dims().end(),
                                 tensor.dims.begin(), tensor.dims.end());
    if (!fits) {
      throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                         text("the buffer given for a result has another type than ", tensor.dtype,
                              "[", join_text(tensor.dims, ","), "]"));
    }
  }
  void write() {
    if (buffer_) result_.allocated = std::move(buffer_);
    if (!target_ || tensor_.count == 0) return;
    std::memcpy(target_->data(), tensor_.data.get(), tensor_.bytes());
  }

 private:
  const Tensor& tensor_;
  sdk::Result& result_;
  std::unique_ptr<TensorBuffer> buffer_;
  sdk::HostBuffer* target_ = nullptr;
};

class Interpreter final : public sdk::Executable {
 public:
  Interpreter(Interpretation program, CompileTimes times, const sdk::Host& host,
              std::string_view label)
      : program_(std::move(program)), times_(std::move(times)), host_(host), label_(label) {
    const ir::Graph& graph = program_.module.graph;
    inputs = graph.inputs.size();
    states = program_.module.state.size();
    outputs = graph.outputs.size();
    updates = graph.updates.size();
    inspection_.dump_program(program_, times_, host_, label_);
  }

  void dump() const override {
    inspection_.dump_program(program_, times_, host_, label_);
    inspection_.dump_calls(program_, host_, label_);
    inspection_.dump_profile(program_, host_, label_);
  }

  std::unique_ptr<sdk::Event> execute(const sdk::Call& call) const override {
    const ScopedFpEnvironment usual;
    Run run;
    run.seed = call.seed;
    run.call_counter = call.call_counter;
    run.module = &program_.module;
    run.host = &host_;
    run.host_call_context = call.host_call_context;
    std::vector<Tensor> arguments;
    for (const sdk::Buffer* input : call.inputs) arguments.push_back(tensor_of(*input));
    bind_symbols(arguments, run);
    check_guards(program_.guards, run);
    for (std::size_t i = 0; i < call.states.size(); ++i) {
      check_state(i, *call.states[i].buffer);
      arguments.push_back(tensor_of(*call.states[i].buffer));
    }
    const std::vector<Tensor> results = run_program(arguments, run);
    // No result is written unless all of them can be.
    std::vector<ResultWriter> writers;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool output = i < call.outputs.size();
      writers.emplace_back(results[i],
                           output ? call.outputs[i] : call.updates[i - call.outputs.size()]);
    }
    for (ResultWriter& writer : writers) writer.write();
    return nullptr;
  }

  std::unique_ptr<sdk::Frame> make_frame(const sdk::FrameIo& io) const override {
    return std::make_unique<sdk::HostFrame>(*this, io);
  }

 private:
  std::vector<Tensor> run_program(const std::vector<Tensor>& arguments, Run& run) const {
    std::optional<NodeTrace> trace;
    if (inspection_.traces_steps() && host_.dump_wanted("trace")) {
      run.trace = &trace.emplace(program_.module, host_, label_);
    }
    if (!inspection_.measures_times()) return run_region(program_.region, arguments, run);
    StepTimes times;
    run.times = &times;
    const Clock::time_point start = Clock::now();
    std::vector<Tensor> results = run_region(program_.region, arguments, run);
    inspection_.add(times, seconds_since(start));
    return results;
  }

  /// Binds symbols to the sizes of inputs and checks sizes that are known.
  void bind_symbols(const std::vector<Tensor>& given, Run& run) const {
    const std::vector<ir::Value>& expected = program_.module.graph.inputs;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const ir::Type& type = expected[i].type();
      if (given[i].dtype != type.dtype || given[i].dims.size() != type.dims.size()) mismatch(i);
      for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
        bind(type.dims[axis], given[i].dims[axis], i, run);
      }
    }
  }

  void bind(const ir::Dim& dim, std::int64_t size, std::size_t input, Run& run) const {
    const auto lookup = [&](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
      const auto found = run.symbols.find(symbol.id);
      return found == run.symbols.end() ? std::nullopt : std::optional(found->second);
    };
    if (const auto solved = solve(dim, size, lookup)) {
      run.symbols.emplace(solved->first.id, solved->second);
    }
    if (run.evaluate(dim) != size) mismatch(input);
  }

  void check_state(std::size_t i, const sdk::Buffer& buffer) const {
    const ir::Type& type = program_.module.state[i].variable.type();
    bool fits = buffer.dtype() == static_cast<std::uint32_t>(type.dtype) &&
                buffer.dims().size() == type.dims.size();
    for (std::size_t axis = 0; fits && axis < type.dims.size(); ++axis) {
      fits = type.dims[axis] == ir::Dim(buffer.dims()[axis]);
    }
    if (fits) return;
    throw sdk::Failure(
        KILN_CODE_INVALID_ARGUMENT,
        text("the buffer of state ", i, " does not have the type ", type, " of its variable"));
  }

  [[noreturn]] void mismatch(std::size_t input) const {
    const ir::Value& value = program_.module.graph.inputs[input];
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                       text("input ", input, " does not have the type ", value.type()));
  }

  Interpretation program_;
  CompileTimes times_;
  sdk::Host host_;
  std::string label_;
  mutable Inspection inspection_;
};

class Reference final : public sdk::Instance {
 public:
  explicit Reference(const sdk::Host& host) : host_(host) {}

  std::vector<sdk::OpSupport> op_table() const override {
    std::vector<sdk::OpSupport> table;
    for (const ir::OpDef& d : ir::all_ops()) {
      sdk::OpSupport row;
      row.name = d.name;
      row.dtypes = d.dtypes;
      table.push_back(row);
    }
    return table;
  }

  /// Every op of this version of the module format is interpreted.
  std::vector<sdk::Unsupported> check(sdk::Bytes) const override { return {}; }

  std::unique_ptr<sdk::Executable> compile(const sdk::CompileRequest& request) override {
    try {
      CompileTimes times;
      Interpretation program = reference::compile(request.module, request.constants, times);
      return std::make_unique<Interpreter>(std::move(program), std::move(times), host_,
                                           request.label);
    } catch (const Error& error) {
      throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, error.what());
    }
  }

 private:
  sdk::Host host_;
};

std::unique_ptr<sdk::Instance> create(const sdk::Options& options, const sdk::Host& host) {
  for (const auto& [name, value] : options) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, "the reference backend has no option " + name);
  }
  return std::make_unique<Reference>(host);
}

}  // namespace

extern constexpr sdk::Plugin kPlugin{
    .name = "reference",
    .version = KILN_VERSION,
    .build_id = "interpreter",
    .features = KILN_FEATURE_CONCURRENT_COMPILE | KILN_FEATURE_FORK_SAFE,
    .create = create,
    .probe = nullptr,
    .option_names = [] { return std::vector<std::string_view>(); },
};

}  // namespace kiln::reference

KILN_BACKEND_ENTRY(kiln::reference::kPlugin)
