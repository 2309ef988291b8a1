// Fills the structs of kiln_communicator.h and turns codes into exceptions.
#include "runtime/distributed/communicator.h"

#include "backends/abi/kiln_backend_structs.h"
#include "backends/abi/kiln_communicator_report.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/host/log.h"
#include "runtime/host/reported_text.h"

#include <algorithm>
#include <array>
#include <exception>
#include <vector>

namespace kiln::runtime::distributed {
namespace {

/// The memory that receives the reason of a failure.
class Reason {
 public:
  Reason() {
    given_.text = text_.data();
    given_.capacity = text_.size();
  }
  Reason(const Reason&) = delete;
  Reason& operator=(const Reason&) = delete;

  const kiln_comm_reason* get() const { return &given_; }
  std::string text() const {
    const std::string_view all(text_.data(), text_.size());
    return escaped_text(all.substr(0, all.find('\0')));
  }

 private:
  std::array<char, 2048> text_{};
  kiln_comm_reason given_ = abi::fresh<kiln_comm_reason>();
};

std::string named(const CommunicatorLibrary& library) {
  return text(" (communicator ", library.name, ", ", library.path, ")");
}

[[noreturn]] void throw_failed(const CommunicatorLibrary& library, const char* entry,
                               std::uint32_t code, const std::string& reason) {
  throw CommunicatorError(
      text(reason.empty() ? text(entry, " failed with code ", code) : reason, named(library)));
}

/// Calls an entry whose last argument receives the reason; throws CommunicatorError.
template <class Entry, class... Arguments>
void call(const CommunicatorLibrary& library, const char* name, Entry entry,
          Arguments... arguments) {
  const Reason reason;
  std::uint32_t code = KILN_CODE_OK;
  try {
    code = entry(arguments..., reason.get());
  } catch (const std::exception&) {
    throw CommunicatorError(
        text(name, " violated the communicator ABI: threw an exception", named(library)));
  }
  if (code != KILN_CODE_OK) throw_failed(library, name, code, reason.text());
}

void log_of(void* host, std::uint32_t level, kiln_string message) noexcept {
  try {
    const auto& library = *static_cast<const CommunicatorLibrary*>(host);
    const auto known = static_cast<LogLevel>(std::min(level, std::uint32_t{KILN_LOG_DEBUG}));
    log_line(known, text("communicator ", library.name), shown_text(message, "message"));
  } catch (const std::exception&) {  // a broken text, or no memory for the line
  }
}

/// The arguments of probe and open, and what they point to.
class Arguments {
 public:
  Arguments(const CommunicatorLibrary& library, const CommunicatorOptions& options) {
    for (const auto& [key, value] : options) {
      auto option = abi::fresh<kiln_option>();
      option.key = abi::string_of(key);
      option.value = abi::string_of(value);
      options_.push_back(option);
    }
    given_.options = abi::array_of<kiln_option>(options_);
    given_.log = log_of;
    given_.host = const_cast<CommunicatorLibrary*>(&library);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const kiln_comm_args* get() const { return &given_; }

 private:
  std::vector<kiln_option> options_;
  kiln_comm_args given_ = abi::fresh<kiln_comm_args>();
};

/// The extension of that type; null: the library has none.
template <class Extension>
const Extension* find_extension(const CommunicatorLibrary& library, std::uint64_t type) {
  const kiln_ext* extension = library.api.next;
  while (extension != nullptr && extension->type_id != type) extension = extension->next;
  return reinterpret_cast<const Extension*>(extension);
}

void add_line(void* lines, kiln_string line) noexcept {
  try {
    static_cast<std::vector<std::string>*>(lines)->push_back(shown_text(line, "line"));
  } catch (const std::exception&) {  // a broken text, or no memory for the line
  }
}

}  // namespace

std::size_t announced_ranks(const CommunicatorLibrary& library,
                            const CommunicatorOptions& options) {
  const Arguments arguments(library, options);
  std::uint32_t ranks = 1;
  call(library, "probe", library.api.probe, arguments.get(), &ranks);
  return ranks;
}

std::vector<std::string> report_of(const CommunicatorLibrary& library, const std::string& launcher,
                                   const std::string& version) {
  const auto* const extension = find_extension<kiln_comm_report>(library, KILN_COMM_REPORT_TYPE);
  if (extension == nullptr) return {};
  const Arguments arguments(library, {});
  std::vector<std::string> lines;
  try {
    call(library, "report", extension->report, arguments.get(), abi::string_of(launcher),
         abi::string_of(version), add_line, static_cast<void*>(&lines));
  } catch (const CommunicatorError& error) {
    lines.push_back(text("no group of ranks: ", error.what()));
  }
  return lines;
}

World::World(const CommunicatorLibrary& library, const CommunicatorOptions& options)
    : library_(library), idle_(find_extension<kiln_comm_idle>(library, KILN_COMM_IDLE_TYPE)) {
  const Arguments arguments(library, options);
  call(library, "open", library.api.open, arguments.get(), &world_);
  if (world_ == nullptr) throw_failed(library, "open", KILN_CODE_OK, "open gave no group");
}

Place World::place_of(kiln_comm* group) const {
  auto info = abi::fresh<kiln_comm_info>();
  const std::uint32_t code = library_.api.info(group, &info);
  if (code != KILN_CODE_OK) throw_failed(library_, "info", code, "");
  const bool is_valid = info.rank < info.size && info.size <= KILN_COMM_MAX_RANKS &&
                        info.local_rank < info.local_size && info.local_size <= info.size;
  if (!is_valid) {
    throw_failed(library_, "info", code,
                 text("info violated the communicator ABI: rank ", info.rank, " of ", info.size,
                      ", local rank ", info.local_rank, " of ", info.local_size));
  }
  try {
    return {info.rank, info.size, info.local_rank, info.local_size,
            shown_text(info.library, "library")};
  } catch (const abi::BrokenStruct& broken) {
    throw_failed(library_, "info", code,
                 text("info violated the communicator ABI: ", broken.what()));
  }
}

kiln_comm* World::split(kiln_comm* group, std::int64_t color, std::int64_t key) const {
  kiln_comm* part = nullptr;
  call(library_, "split", library_.api.split, group, color, key, &part);
  if (part == nullptr) throw_failed(library_, "split", KILN_CODE_OK, "split gave no group");
  return part;
}

kiln_comm_work* World::start(kiln_comm* group, const Transfer& transfer) const {
  auto given = abi::fresh<kiln_comm_transfer>();
  given.kind = static_cast<std::uint32_t>(transfer.kind);
  given.root = static_cast<std::uint32_t>(transfer.root);
  given.send = transfer.send;
  given.receive = transfer.receive;
  given.bytes = transfer.bytes;
  kiln_comm_work* work = nullptr;
  call(library_, "start", library_.api.start, group, &given, &work);
  if (work == nullptr) throw_failed(library_, "start", KILN_CODE_OK, "start gave no transfer");
  return work;
}

bool World::is_done(kiln_comm_work* work) const {
  std::uint32_t done = 0;
  call(library_, "test", library_.api.test, work, &done);
  return done != 0;
}

void World::notify(const std::string& text, void (*on_text)(void*, std::uint32_t, kiln_string),
                   void* context) const {
  if (library_.api.notify == nullptr) return;
  library_.api.notify(world_, abi::string_of(text), on_text, context);  // names are a courtesy
}

void World::idle() const {
  if (idle_ != nullptr) idle_->idle(world_);
}

void World::abort(std::uint32_t exit_code) const { library_.api.abort(world_, exit_code); }

void World::close() { call(library_, "close", library_.api.close, world_); }

}  // namespace kiln::runtime::distributed
