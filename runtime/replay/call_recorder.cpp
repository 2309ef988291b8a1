// Takes the graph before the passes, so that a fault of a pass can be found in the files, too.
#include "runtime/replay/call_recorder.h"

#include "core/module/write.h"
#include "core/types/escaped_text.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"
#include "runtime/dump/dump_folder.h"
#include "runtime/files/file_io.h"
#include "runtime/host/log.h"
#include "runtime/replay/argument_names.h"
#include "runtime/weights/safetensors.h"

#include <kiln/error.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace kiln::runtime {
namespace {

/// A server that rejects bad requests must not fill the disk.
constexpr std::int64_t kMaxFailures = 8;
/// The longest name of a function in the name of a file; file systems allow 255 bytes in all.
constexpr std::size_t kMaxName = 200;

[[noreturn]] void reject(const std::string& setting, const std::string& reason) {
  throw ConfigError(
      "function", "KILN_RECORD",
      text("KILN_RECORD=", setting, ": ", reason, "; it is DIR, DIR:NAME or DIR:NAME#N"));
}

bool fits(const CompiledProgram& program, std::span<const ArrayView> inputs) {
  if (inputs.size() != program.binding.count()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayView& input = inputs[i];
    const auto is_negative = [](std::int64_t dim) { return dim < 0; };
    const bool is_empty = std::find(input.dims.begin(), input.dims.end(), 0) != input.dims.end();
    if (input.dtype != program.binding.type(i).dtype || (input.data == nullptr && !is_empty) ||
        std::any_of(input.dims.begin(), input.dims.end(), is_negative)) {
      return false;
    }
  }
  return true;
}

Array copy_of(const ArrayView& view) {
  std::vector<std::int64_t> dims(view.dims.begin(), view.dims.end());
  if (view.data == nullptr) return Array::zeros(std::move(dims), view.dtype);  // without elements
  return Array::copy_of(view.data, std::move(dims), view.dtype);
}

}  // namespace

std::optional<RecordRequest> RecordRequest::of_environment() {
  const char* value = ::secure_getenv("KILN_RECORD");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string setting(value);
  RecordRequest request{
      .directory = setting.substr(0, setting.rfind(':')), .function = "", .call = 0};
  if (request.directory.empty()) reject(setting, "the folder is missing");
  if (request.directory.size() == setting.size()) return request;
  request.function = setting.substr(request.directory.size() + 1);
  const std::size_t hash = request.function.rfind('#');
  if (hash != std::string::npos) {
    const char* const end = request.function.data() + request.function.size();
    const auto [stop, error] =
        std::from_chars(request.function.data() + hash + 1, end, request.call);
    if (error != std::errc() || stop != end || request.call < 1) {
      reject(setting, "after # there is no number from 1");
    }
    request.function.resize(hash);
  }
  if (request.function.empty()) reject(setting, "after : there is no name of a function");
  return request;
}

std::unique_ptr<CallRecorder> CallRecorder::wanted(const CompiledProgram& program) {
  std::optional<RecordRequest> request = RecordRequest::of_environment();
  if (!request || (!request->function.empty() && request->function != program.name)) return nullptr;
  return std::make_unique<CallRecorder>(program, *std::move(request));
}

CallRecorder::CallRecorder(const CompiledProgram& program, RecordRequest request)
    : program_(program),
      request_(std::move(request)),
      module_(module::make_module(program.user_graph, program.guards, program.name)) {
  for (const module::StateEntry& entry : module_.state) {
    storages_.push_back(&storage_of(entry.variable));
  }
}

std::string CallRecorder::next_path() const {
  static std::atomic<int> next{1};
  return text(request_.directory, "/", file_name_of(program_.name).substr(0, kMaxName), "-",
              ::getpid(), "-", next.fetch_add(1));
}

template <class Work>
void CallRecorder::attempt(const Work& work) noexcept {
  if (has_ended_) return;
  try {
    const ScopedFpEnvironment usual;
    work();
  } catch (const std::exception& error) {
    if (!has_ended_.exchange(true)) warn(error.what());
  }
}

void CallRecorder::warn(const char* reason) const noexcept {
  try {
    log_line(LogLevel::Warning, "record",
             text("calls of ", program_.name, " are not recorded: ", reason));
  } catch (const std::bad_alloc&) {
    log_line(LogLevel::Warning, "record", reason);
  }
}

void CallRecorder::write_files(const std::string& path, std::span<const ArrayView> inputs,
                               const VariableSnapshot& snapshot, Metadata metadata) const {
  metadata.emplace(kRecordBackend, program_.instance->plugin().id);
  metadata.emplace(kRecordPasses, program_.optimize ? "true" : "false");
  const std::vector<std::string> names = argument_names(module_.graph.inputs, module_.state);
  std::vector<NamedArray> values;
  for (const ArrayView& input : inputs) values.push_back({names[values.size()], copy_of(input)});
  for (VariableStorage* storage : storages_) {
    const VersionRef& version = snapshot.value_of(*storage);
    values.push_back({names[values.size()], storage->read(*version)});
  }
  create_private_folder(request_.directory);
  const module::Encoded encoded = module::write_module(module_, {.embed_constants = true});
  if (encoded.bytes.size() > module::kMaxModuleBytes) {
    throw IoError("", "",
                  text(path, ".kirb would have ", encoded.bytes.size(), " bytes; at most ",
                       module::kMaxModuleBytes, " are read"));
  }
  OutputFile file(path + ".kirb", kRecordMode);
  file.write(encoded.bytes);
  write_safetensors(path + ".safetensors", values, metadata, kRecordMode);
  file.commit();
  log_line(LogLevel::Info, "record", text("a call of ", program_.name, " is in ", path, ".kirb"));
}

CallRecorder::Call::Call(CallRecorder& recorder, std::span<const ArrayView> inputs,
                         const VariableSnapshot& snapshot, std::uint64_t next_number)
    : recorder_(recorder),
      inputs_(inputs),
      snapshot_(snapshot),
      number_(next_number),
      written_number_(next_number) {
  const std::int64_t number = recorder.calls_.fetch_add(1) + 1;
  const RecordRequest& request = recorder.request_;
  const bool is_chosen =
      !recorder.wants_failures() && (request.call == 0 || request.call == number);
  if (!is_chosen || !fits(recorder.program_, inputs)) return;
  recorder.attempt([&] {
    for (const ArrayView& input : inputs) copies_.push_back(copy_of(input));
    for (const Array& copy : copies_) views_.push_back(copy.as_view());
    path_ = recorder.next_path();
    recorder.write_files(path_, views_, snapshot_, metadata());
  });
}

CallRecorder::Metadata CallRecorder::Call::metadata() const {
  if (!recorder_.program_.draws) return {};
  return {{kRecordRandomCall, text(number_)}};
}

void CallRecorder::Call::succeed() noexcept {
  if (path_.empty() || number_ == written_number_) return;
  recorder_.attempt([&] { recorder_.write_files(path_, views_, snapshot_, metadata()); });
}

void CallRecorder::Call::fail(std::string_view error) noexcept {
  const bool is_chosen = !path_.empty();
  const bool is_wanted = recorder_.wants_failures() && fits(recorder_.program_, inputs_) &&
                         recorder_.failures_.fetch_add(1) < kMaxFailures;
  if (!is_chosen && !is_wanted) return;
  recorder_.attempt([&] {
    Metadata call = metadata();
    call.emplace(kRecordError, utf8_text(error));
    recorder_.write_files(is_chosen ? path_ : recorder_.next_path(), is_chosen ? views_ : inputs_,
                          snapshot_, std::move(call));
  });
}

}  // namespace kiln::runtime
