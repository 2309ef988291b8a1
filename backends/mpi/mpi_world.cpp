// The group of all ranks, which owns the groups that are split from it.
#include "backends/mpi/notices.h"
#include "backends/mpi/signal_handlers.h"

#include <cstdlib>
#include <cstring>

namespace kiln::mpi {
namespace {

/// The world of a process that no launcher started: rank 0 of 1, without any MPI.
class SingleGroup final : public kiln_comm {
 public:
  explicit SingleGroup(std::vector<std::unique_ptr<kiln_comm>>& parts) : parts_(parts) {}

  const std::string& library() const override { return library_; }
  kiln_comm* split(std::int64_t, std::int64_t) override {
    parts_.push_back(std::make_unique<SingleGroup>(parts_));
    return parts_.back().get();
  }
  std::unique_ptr<kiln_comm_work> start(const kiln_comm_transfer& transfer) override {
    struct Done final : kiln_comm_work {
      bool is_done() override { return true; }
    };
    const bool copies = transfer.kind != KILN_COMM_BROADCAST && transfer.bytes != 0;
    if (copies) std::memcpy(transfer.receive, transfer.send, transfer.bytes);
    return std::make_unique<Done>();
  }

 private:
  std::vector<std::unique_ptr<kiln_comm>>& parts_;
  const std::string library_ = "no library, as no launcher of MPI started this process";
};

class SingleWorld final : public World {
 public:
  kiln_comm& group() override { return group_; }
  void notify(std::string_view text, OnText on_text, void* context) override {
    if (on_text != nullptr && !text.empty()) on_text(context, 0, abi::string_of(text));
  }
  void abort(int exit_code) override { std::_Exit(exit_code); }
  void close() override {}

 private:
  std::vector<std::unique_ptr<kiln_comm>> parts_;
  SingleGroup group_{parts_};
};

template <class Handle>
class MpiWorld final : public World {
 public:
  MpiWorld(const Library& library, const Launcher& launcher)
      : engine_(start_engine<Handle>(library, launcher)) {
    Handle copy{};
    engine_.call(&Functions<Handle>::comm_dup, "MPI_Comm_dup", engine_.handles.world, &copy);
    world_ = std::make_unique<MpiGroup<Handle>>(engine_, parts_, copy);
  }

  kiln_comm& group() override { return *world_; }

  void notify(std::string_view text, OnText on_text, void* context) override {
    notices_.send(*world_, text);
    if (world_->rank == 0) notices_.receive(*world_, on_text, context);
  }

  void abort(int exit_code) override { engine_.functions.abort(world_->comm(), exit_code); }

  void close() override {
    if (engine_.transfers != 0) {
      throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                         std::to_string(engine_.transfers) +
                             " transfers are in progress, so MPI cannot be finalised");
    }
    int is_finalised = 0;
    engine_.call(&Functions<Handle>::finalized, "MPI_Finalized", &is_finalised);
    if (is_finalised != 0) {
      throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                         "the program has finalised MPI before the group was left");
    }
    notices_.finish(*world_);
    while (!parts_.empty()) parts_.pop_back();  // the last first, on all ranks
    world_.reset();
    if (engine_.is_adopted) return;
    const ScopedSignalHandlers handlers;
    engine_.call(&Functions<Handle>::finalize, "MPI_Finalize");
  }

 private:
  Engine<Handle> engine_;
  Notices<Handle> notices_{engine_};
  std::vector<std::unique_ptr<kiln_comm>> parts_;
  std::unique_ptr<MpiGroup<Handle>> world_;
};

}  // namespace

std::unique_ptr<World> open_world() {
  const ScopedSignalHandlers handlers;  // libraries of MPI replace some as soon as they are loaded
  const Launcher launcher = find_launcher();
  const std::optional<Library> library = open_library(launcher);
  if (!library) return std::make_unique<SingleWorld>();
  if (library->abi == Abi::Mpich) return std::make_unique<MpiWorld<int>>(*library, launcher);
  return std::make_unique<MpiWorld<void*>>(*library, launcher);
}

}  // namespace kiln::mpi
