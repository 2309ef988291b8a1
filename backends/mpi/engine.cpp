// Starts a library in stages: functions, constants, initialisation, number of ranks.
#include "backends/mpi/engine.h"

#include <algorithm>
#include <type_traits>

namespace kiln::mpi {
namespace {

constexpr std::array<const char*, 4> kLevelNames{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                                 "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

template <class Function>
void resolve(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(library.symbol(name));
}

Handles<void*> pointers(const Handles<std::uintptr_t>& numbers) {
  const auto pointer = [](std::uintptr_t number) { return reinterpret_cast<void*>(number); };
  return {pointer(numbers.world), pointer(numbers.byte), pointer(numbers.errors_return),
          pointer(numbers.info_null)};
}

template <class Handle>
void set_constants(const Library& library, Engine<Handle>& engine) {
  if constexpr (std::is_same_v<Handle, int>) {
    engine.numbers = kMpichNumbers;
    engine.handles = kMpichHandles;
  } else if (library.abi == Abi::Standard) {
    engine.numbers = kStandardNumbers;
    engine.handles = pointers(kStandardHandles);
  } else {
    engine.numbers = kOpenMpiNumbers;
    engine.handles = {library.symbol(kOpenMpiHandles.world), library.symbol(kOpenMpiHandles.byte),
                      library.symbol(kOpenMpiHandles.errors_return),
                      library.symbol(kOpenMpiHandles.info_null)};
  }
}

template <class Handle>
int state(const Engine<Handle>& engine, int (*Functions<Handle>::*function)(int*),
          const char* name) {
  int value = 0;
  engine.call(function, name, &value);
  return value;
}

template <class Handle>
void adopt(Engine<Handle>& engine) {
  if (state(engine, &Functions<Handle>::finalized, "MPI_Finalized") != 0) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       "MPI has been finalised in this process and cannot be initialised again");
  }
  const auto& levels = engine.numbers.thread_levels;
  const int level = state(engine, &Functions<Handle>::query_thread, "MPI_Query_thread");
  if (level < levels[Multiple]) {
    const auto found = std::find(levels.begin(), levels.end(), level) - levels.begin();
    const std::string name = found < 4 ? kLevelNames[static_cast<std::size_t>(found)]
                                       : "thread level " + std::to_string(level);
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       "the program initialised MPI with " + name +
                           "; Kiln's communication thread needs MPI_THREAD_MULTIPLE, or init() "
                           "before MPI_Init_thread");
  }
  engine.is_adopted = true;
}

template <class Handle>
void initialise(const Engine<Handle>& engine) {
  const auto& levels = engine.numbers.thread_levels;
  int level = 0;
  engine.call(&Functions<Handle>::init_thread, "MPI_Init_thread", nullptr, nullptr,
              levels[Funneled], &level);
  engine.call(&Functions<Handle>::comm_set_errhandler, "MPI_Comm_set_errhandler",
              engine.handles.world, engine.handles.errors_return);
  if (level >= levels[Funneled]) return;
  engine.functions.finalize();
  throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                     engine.library +
                         " supports MPI_THREAD_SINGLE alone, but other threads of "
                         "this process compute");
}

template <class Handle>
void check_size(const Engine<Handle>& engine, const Launcher& launcher) {
  int size = 0;
  engine.call(&Functions<Handle>::comm_size, "MPI_Comm_size", engine.handles.world, &size);
  if (!launcher.is_present() || size == static_cast<int>(launcher.ranks)) return;
  if (!engine.is_adopted) engine.functions.finalize();
  throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                     launcher.title() + " announces " + std::to_string(launcher.ranks) +
                         " ranks, but " + engine.library + " reports " + std::to_string(size) +
                         ": they belong to different MPI implementations; set KILN_MPI to the "
                         "launcher's library");
}

}  // namespace

template <class Handle>
Engine<Handle> start_engine(const Library& library, const Launcher& launcher) {
  Engine<Handle> engine;
#define KILN_MPI_RESOLVE(member, name, ...) resolve(library, #name, engine.functions.member);
  KILN_MPI_FUNCTIONS(KILN_MPI_RESOLVE)
#undef KILN_MPI_RESOLVE
  set_constants(library, engine);
  engine.library = library.title();
  const bool is_initialised =
      state(engine, &Functions<Handle>::initialized, "MPI_Initialized") != 0;
  is_initialised ? adopt(engine) : initialise(engine);
  check_size(engine, launcher);
  return engine;
}

template Engine<int> start_engine(const Library&, const Launcher&);
template Engine<void*> start_engine(const Library&, const Launcher&);

}  // namespace kiln::mpi
