// Tests the communicator on ranks that the launchers of this machine start.
#include "tests/distributed/mpi/launchers.h"

using namespace mpi_test;

namespace {

/// The file of the library that ranks of this launcher open; empty after a failed check.
std::string library_of(const std::string& launcher) {
  const Outcome outcome = run_ranks(launcher, 1, "open");
  INFO(outcome.text);
  const std::size_t begin = outcome.text.rfind('('), end = outcome.text.rfind(')');
  REQUIRE(outcome.status == 0);
  REQUIRE(begin < end);
  return outcome.text.substr(begin + 1, end - begin - 1);
}

void passes_everything(const Implementation& implementation) {
  const std::string start = launcher(implementation);
  if (start.empty()) return;
  for (const int ranks : {1, 2, 4}) {
    const Outcome outcome = run_ranks(start, ranks, "all 3000017");
    INFO(start << "\n" << outcome.text);
    CHECK(outcome.status == 0);
    CHECK(lines_with_end(outcome.text, " of " + std::to_string(ranks) + ": passed") == ranks);
  }
}

void aborts(const Implementation& implementation) {
  const std::string start = launcher(implementation);
  if (start.empty()) return;
  for (const int ranks : {1, 4}) {
    const Outcome outcome = run_ranks(start, ranks, "abort 23");
    INFO(start << "\n" << outcome.text);
    // MPICH's mpiexec ends with 9 instead if it kills a rank before it has read the code.
    const bool is_killed = implementation.name == "MPICH" && outcome.status == 9;
    CHECK((outcome.status == 23 || is_killed));
  }
}

void stays_with_transfers(const Implementation& implementation) {
  const std::string start = launcher(implementation);
  if (start.empty()) return;
  const Outcome outcome = run_ranks(start, 2, "leave");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(lines_with_end(outcome.text, "1 transfers are in progress, so MPI cannot be finalised") ==
        1);
}

void adopts(const Implementation& implementation) {
  const std::string start = launcher(implementation);
  if (start.empty()) return;
  const std::string library = library_of(start);
  const bool is_standard = library.find("libmpi_abi.") != library.npos;
  // MPI_THREAD_FUNNELED and MPI_THREAD_MULTIPLE of the library's binary interface.
  const std::string funneled = is_standard ? " 1024 " : " 1 ",
                    multiple = is_standard ? " 4096 " : " 3 ";
  struct Row {
    std::string command;
    const char* printed;
  };
  const char* too_little =
      "the program initialised MPI with MPI_THREAD_FUNNELED; Kiln's communication thread needs "
      "MPI_THREAD_MULTIPLE, or init() before MPI_Init_thread";
  const Row rows[] = {{"adopt " + library + multiple + "global", "of 2: passed"},
                      {"adopt " + library + multiple + "local", "of 2: passed"},
                      {"adopt " + library + funneled + "global", too_little},
                      {"adopt " + library + funneled + "local", too_little},
                      {"finalise " + library + multiple + "joined",
                       "of 2: the program has finalised MPI before the group was left"},
                      {"finalise " + library + multiple + "alone",
                       "MPI has been finalised in this process and cannot be initialised again"}};
  for (const Row& row : rows) {
    const Outcome outcome = run_ranks(start, 2, row.command);
    INFO(row.command << "\n" << outcome.text);
    CHECK(lines_with_end(outcome.text, row.printed) == 2);
  }
  const Outcome alone = run_shell(driver("adopt " + library + multiple + "global"));
  INFO(alone.text);
  CHECK(lines_with_end(alone.text, "rank 0 of 1: passed") == 1);
}

}  // namespace

TEST_CASE("Open MPI: transfers, parts of the group and notices") { passes_everything(kOpenMpi); }
TEST_CASE("MPICH: transfers, parts of the group and notices") { passes_everything(kMpich); }

TEST_CASE("Open MPI: abort ends all ranks with the exit code") { aborts(kOpenMpi); }
TEST_CASE("MPICH: abort ends all ranks with the exit code") { aborts(kMpich); }

TEST_CASE("Open MPI: a group with transfers cannot be left") { stays_with_transfers(kOpenMpi); }
TEST_CASE("MPICH: a group with transfers cannot be left") { stays_with_transfers(kMpich); }

TEST_CASE("Open MPI: an MPI that the program has initialised") { adopts(kOpenMpi); }
TEST_CASE("MPICH: an MPI that the program has initialised") { adopts(kMpich); }

TEST_CASE("a library of another implementation than the launcher") {
  const std::string open_mpi = launcher(kOpenMpi), mpich = launcher(kMpich);
  if (open_mpi.empty() || mpich.empty()) return;
  const std::string library = library_of(mpich);
  // The shell is between the launcher and its ranks.
  const Outcome outcome =
      run_shell(open_mpi + " -n 2 sh -c 'KILN_MPI=" + library + " " + driver("open") + "; exit 0'");
  INFO(outcome.text);
  if (outcome.text.find("unsupported PMI version") != std::string::npos) {
    WARN("left out: this MPICH ends the process itself where another launcher started it");
    return;
  }
  CHECK(outcome.text.find("mpirun (/") != std::string::npos);
  CHECK(outcome.text.find(") announces 2 ranks, but MPICH ") != std::string::npos);
  CHECK(lines_with_end(outcome.text, " (" + library +
                                         ") reports 1: they belong to different MPI "
                                         "implementations; set KILN_MPI to the launcher's "
                                         "library") == 2);
}
