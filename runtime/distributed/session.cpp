// The group of the process: init, its end, and world().
#include <kiln/distributed.h>

#include "core/k/base/call.h"
#include "core/types/at_line.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/distributed/group.h"
#include "runtime/distributed/rank_info.h"
#include "runtime/distributed/session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

namespace kiln::distributed {
namespace {

using runtime::distributed::CommunicatorError;
using runtime::distributed::CommunicatorLibrary;
using InternalGroup = runtime::distributed::Group;

constexpr std::int64_t kMaxTimeLimit = 365 * 24 * 3600;  // seconds

struct Current {
  std::shared_ptr<InternalGroup> world;  // null before init() and after the end of its Session
  std::shared_ptr<InternalGroup> last;  // that was in `world`
  std::string init;  // with its line
  bool ends_at_exit = false;  // end_at_exit() is registered
};
constinit ForkMutex current_mutex;
KILN_AT_LOAD NoDestructor<Current> current;
[[maybe_unused]] const bool is_current_held = hold_at_fork<current_mutex>();

std::shared_ptr<InternalGroup> last_world() {
  const std::lock_guard lock(current_mutex);
  return current->last;
}

/// For a process that ends without the destructor of its Session, and for a broken group, whose
/// other ranks may wait for ever.
void end_at_exit() {
  const auto world = last_world();
  // A communicator that is told to abort may call exit() on its own thread, for which others wait.
  if (world->is_on_communication_thread()) return;
  world->leave("exit was called");
  world->abort_if_broken();
}

/// Whether a launcher that the communicator "mpi" knows (backends/mpi/launcher.h) started this
/// process.
bool is_launched() {
  constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  return std::any_of(std::begin(kVariables), std::end(kVariables), [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
  });
}

std::shared_ptr<InternalGroup> join(const InitOptions& options, Where where) {
  const std::string& given = options.communicator;
  const std::string name = given.empty() ? runtime::distributed::default_communicator() : given;
  // A program that is alone runs without the file of the communicator, too.
  if (name == "mpi" && !is_launched()) return std::make_shared<InternalGroup>();
  const CommunicatorLibrary& library =
      runtime::distributed::open_communicator_library(name, "init");
  if (runtime::distributed::announced_ranks(library, options.options) == 1) {
    return std::make_shared<InternalGroup>();
  }
  const runtime::distributed::WaitLimits limits{
      .limit = std::chrono::seconds(std::int64_t{options.time_limit})};
  auto world = std::make_shared<InternalGroup>(library, options.options, limits);
  runtime::distributed::exchange_rank_info(*world, where);
  return world;
}

void require_no_group() {
  const std::lock_guard lock(current_mutex);
  if (!current->world) return;
  Call::value_error("", text("this process is in a group already (", current->init, ")"));
}

}  // namespace

}  // namespace kiln::distributed

namespace kiln::runtime::distributed {

std::shared_ptr<Group> current_world() {
  const std::lock_guard lock(kiln::distributed::current_mutex);
  return kiln::distributed::current->world;
}

}  // namespace kiln::runtime::distributed

namespace kiln::distributed {

Session init(const InitOptions& options, Where where) {
  return api_call("init", where, [&] {
    if (options.time_limit < 1 || options.time_limit > kMaxTimeLimit) {
      Call::value_error("time_limit", text("time_limit is ", std::int64_t{options.time_limit},
                                           " but must be from 1 to ", kMaxTimeLimit));
    }
    require_no_group();
    return at_line(where, [&] {
      std::shared_ptr<InternalGroup> world;
      try {
        world = join(options, where);
      } catch (const CommunicatorError& error) {
        throw ConfigError("init", "communicator", error.what());
      }
      std::string line = text("init at ", where.file, ":", where.line);
      std::shared_ptr<InternalGroup> previous = world;  // freed after the lock, as that may wait
      const std::lock_guard lock(current_mutex);
      if (!std::exchange(current->ends_at_exit, true)) std::atexit(end_at_exit);
      current->world = world;
      current->last.swap(previous);
      current->init.swap(line);
      return Session(world);
    });
  });
}

bool is_initialized() {
  return api_call("is_initialized", {},
                  [] { return runtime::distributed::current_world() != nullptr; });
}

Group world(Where where) {
  return api_call("world", where, [&] {
    const std::lock_guard lock(current_mutex);
    if (!current->world) {
      Call::value_error("", "there is no group of ranks; call K::distributed::init() first");
    }
    return Group(current->world);
  });
}

Session::Session(std::shared_ptr<runtime::distributed::Group> impl)
    : Group(impl), session_(std::move(impl)), exceptions_(std::uncaught_exceptions()) {}

Session::~Session() {
  if (!session_) return;
  {
    const std::lock_guard lock(current_mutex);
    current->world = nullptr;
  }
  const bool is_unwinding = std::uncaught_exceptions() > exceptions_;
  session_->leave(is_unwinding ? "an exception ended its session" : "its session ended");
}

}  // namespace kiln::distributed
