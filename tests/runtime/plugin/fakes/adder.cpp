// A working backend for the tests, written with the SDK. Its "module" is lines of text.

//   inputs N | states N | outputs N | updates N     counts, 0 at first
//   node ID OP                                      an op; anything but those below is unsupported
// Ops: add (nothing special), fail (execute throws an error with every field set), fail_unknown
// (execute throws something that is no exception class), later (execute gives an event that is done
// at the second wait), later_fail (the event fails), parallel (adds through parallel_for),
// parallel_fail, print (host_call print_tensor on input 0), host_missing (host_call of a function
// that is not there), forget (computes no output), log, dump.
// Every output is the sum of all inputs and states, float32; every update its state plus the sum
// of the inputs. A constant beside the module is added to the outputs.
#include "backends/abi/kiln_backend_sdk.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace {

using namespace kiln::sdk;

constexpr std::array<std::string_view, 14> kOps = {
    "add",          "fail",       "fail_unknown", "fail_empty",    "fail_length",
    "later",        "later_fail", "parallel",     "parallel_fail", "print",
    "host_missing", "forget",     "log",          "dump"};

struct Node {
  std::uint64_t id;
  std::string op;
};

struct Program {
  std::uint64_t inputs = 0, states = 0, outputs = 0, updates = 0;
  std::vector<Node> nodes;
};

Program parse(Bytes module) {
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(module.data()), module.size()));
  Program program;
  std::string word;
  while (lines >> word) {
    if (word == "node") {
      Node node;
      lines >> node.id >> node.op;
      program.nodes.push_back(node);
      continue;
    }
    std::uint64_t count = 0;
    lines >> count;
    if (word == "inputs") program.inputs = count;
    else if (word == "states") program.states = count;
    else if (word == "outputs") program.outputs = count;
    else if (word == "updates") program.updates = count;
    else throw Failure(KILN_CODE_INVALID_ARGUMENT, "module says '" + word + "'");
  }
  return program;
}

const float* floats(const Buffer* buffer) { return static_cast<const float*>(buffer->host_data()); }

class Later final : public Event {
 public:
  explicit Later(bool fails) : fails_(fails) {}
  bool wait(std::uint64_t) override {
    if (++waits_ < 2) return false;
    if (fails_) throw Failure(KILN_CODE_UNAVAILABLE, "the device went away");
    return true;
  }

 private:
  bool fails_;
  int waits_ = 0;
};

class Adder final : public Executable {
 public:
  Adder(Program program, const CompileRequest& request, const Host& host)
      : program_(std::move(program)), host_(host) {
    inputs = program_.inputs;
    states = program_.states;
    outputs = program_.outputs;
    updates = program_.updates;
    messages.push_back({KILN_LOG_INFO, "compiled " + std::string(request.label)});
    for (const Bytes constant : request.constants) {
      float value = 0;
      std::memcpy(&value, constant.data(), sizeof(value));
      bias_ += value;
    }
  }

  std::unique_ptr<Event> execute(const Call& call) const override {
    std::unique_ptr<Event> event;
    for (const Node& node : program_.nodes) run(node.op, call, event);
    if (has("forget")) return event;
    for (Result& output : call.outputs) {
      write(output, sum(call, bias_, true));
    }
    for (std::size_t i = 0; i < call.updates.size(); ++i) {
      std::vector<float> next = sum(call, 0, false);
      const float* state = floats(call.states[i].buffer);
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += state[k];
      write(call.updates[i], next);
    }
    return event;
  }

 private:
  bool has(std::string_view op) const {
    return std::any_of(program_.nodes.begin(), program_.nodes.end(),
                       [&](const Node& node) { return node.op == op; });
  }

  static std::size_t width(const Call& call) {
    return call.inputs.empty() ? call.states[0].buffer->elements() : call.inputs[0]->elements();
  }

  std::vector<float> sum(const Call& call, float start, bool with_states) const {
    std::vector<float> total(width(call), start);
    const auto add = [&](const Buffer* buffer) {
      const float* values = floats(buffer);
      const auto part = [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) total[i] += values[i];
      };
      if (has("parallel")) host_.parallel_for(total.size(), part);
      else part(0, total.size());
    };
    for (const Buffer* input : call.inputs) add(input);
    for (const StateIn& state : call.states) {
      if (with_states) add(state.buffer);
    }
    return total;
  }

  static void write(Result& result, const std::vector<float>& values) {
    const std::int64_t dims[] = {static_cast<std::int64_t>(values.size())};
    Buffer* target = result.given;
    if (target == nullptr) {
      result.allocated = std::make_unique<HostBuffer>(KILN_DTYPE_FLOAT32, dims);
      target = result.allocated.get();
    }
    std::memcpy(static_cast<HostBuffer*>(target)->data(), values.data(),
                values.size() * sizeof(float));
  }

  void run(const std::string& op, const Call& call, std::unique_ptr<Event>& event) const {
    if (op == "fail") {
      throw Failure(KILN_CODE_FAILED_PRECONDITION, "the adder is jammed")
          .node(7)
          .node(9)
          .at("model.cpp:12")
          .native("GEARS", -3)
          .detail("teeth", "32")
          .can_retry()
          .caused_by(Failure(KILN_CODE_DATA_LOSS, "a tooth is missing"));
    }
    if (op == "fail_unknown") throw 42;
    if (op == "fail_empty") throw std::runtime_error("");
    if (op == "fail_length") throw std::length_error("basic_string::_M_create");
    if (op == "later" || op == "later_fail") event = std::make_unique<Later>(op == "later_fail");
    if (op == "parallel_fail") {
      host_.parallel_for(100, [](std::uint64_t, std::uint64_t) {
        throw Failure(KILN_CODE_INTERNAL, "a part failed");
      });
    }
    if (op == "print" || op == "host_missing") {
      const Buffer* input = call.inputs[0];
      std::vector<float> copy(input->elements());
      const kiln_view from =
          view(input->dtype(), input->dims(), const_cast<void*>(input->host_data()));
      const kiln_view to = view(input->dtype(), input->dims(), copy.data());
      const std::string_view text = "msg";
      host_.host_call(call.host_call_context, op == "print" ? "print_tensor" : "no_such_function",
                      std::as_bytes(std::span(text)), std::span(&from, 1), std::span(&to, 1));
    }
    if (op == "log") {
      host_.log(KILN_LOG_WARNING, "gears", "slipping", {{"teeth", "32"}, {"rpm", "900"}});
    }
    if (op == "dump" && host_.dump_wanted("asm")) {
      const std::string_view text = "addps";
      host_.dump(call.label, "asm", 3, "kernel", "text/plain", std::as_bytes(std::span(text)));
    }
  }

  Program program_;
  Host host_;
  float bias_ = 0;
};

class AdderInstance final : public Instance {
 public:
  explicit AdderInstance(const Host& host) : host_(host) {}

  std::vector<OpSupport> op_table() const override {
    std::vector<OpSupport> table;
    for (const std::string_view op : kOps) {
      table.push_back({op, 1, 1, 0, 1u << KILN_DTYPE_FLOAT32});
    }
    return table;
  }

  std::vector<Unsupported> check(Bytes module) const override {
    std::vector<Unsupported> lacking;
    for (const Node& node : parse(module).nodes) {
      if (std::find(kOps.begin(), kOps.end(), node.op) != kOps.end()) continue;
      lacking.push_back({node.id, node.op, "adders only add", "model.cpp:7"});
    }
    return lacking;
  }

  std::unique_ptr<Executable> compile(const CompileRequest& request) override {
    for (const auto& [key, value] : request.options) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "no option '" + key + "'");
    }
    return std::make_unique<Adder>(parse(request.module), request, host_);
  }

 private:
  Host host_;
};

constexpr Plugin kAdder = {
    .name = "adder",
    .version = "1.2.3",
    .build_id = "adder-1",
    .features = 0,
    .create = [](const Options& options, const Host& host) -> std::unique_ptr<Instance> {
      for (const auto& [key, value] : options) {
        throw Failure(KILN_CODE_INVALID_ARGUMENT, "no option '" + key + "'");
      }
      return std::make_unique<AdderInstance>(host);
    },
    .probe = [](const Options&) -> ProbeReport { return {50, "", {"it can add"}}; },
};

}  // namespace

KILN_BACKEND_ENTRY(kAdder)
