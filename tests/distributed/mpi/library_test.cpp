// Tests how the communicator reads a launcher's variables and finds the library, without ranks.
#include "tests/distributed/mpi/launchers.h"

#include <filesystem>
#include <fstream>

using namespace mpi_test;

namespace {

namespace fs = std::filesystem;

const std::string kCommunicator = build_folder() + "/lib/libkilncomm_mpi.so";

Outcome run_alone(const std::string& variables, const std::string& command) {
  return run_shell("env " + variables + " " + driver(command));
}

/// A folder with files that have the names of MPI libraries and cannot be loaded.
fs::path folder_of_damaged_libraries() {
  const fs::path folder = fs::path(build_folder()) / "tests" / "damaged_mpi";
  fs::create_directories(folder);
  for (const char* name :
       {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpi_abi.so.0"}) {
    std::ofstream(folder / name) << "?";
  }
  return folder;
}

}  // namespace

TEST_CASE("the number of ranks that a launcher announces") {
  struct Row {
    const char* variables;
    const char* printed;
  };
  const Row rows[] = {
      {"", "1 ranks"},
      {"OMPI_COMM_WORLD_SIZE=4", "4 ranks"},
      {"PMI_SIZE=3", "1 ranks"},
      {"PMI_SIZE=3 PMI_FD=7", "3 ranks"},
      {"PMI_SIZE=3 PMI_PORT=node:7", "3 ranks"},
      {"OMPI_COMM_WORLD_SIZE=4 PMI_SIZE=3 PMI_FD=7", "4 ranks"},
      {"SLURM_NTASKS=8 SLURM_PROCID=0", "1 ranks"},
      {"SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=6", "6 ranks"},
      {"SLURM_STEP_NUM_TASKS=6 PMI_SIZE=3 PMI_FD=7", "3 ranks"},
      {"OMPI_COMM_WORLD_SIZE=1048576", "1048576 ranks"},
      {"OMPI_COMM_WORLD_SIZE=1048577",
       "OMPI_COMM_WORLD_SIZE is \"1048577\", but a number of ranks is from 1 to 1048576"},
      {"OMPI_COMM_WORLD_SIZE=0",
       "OMPI_COMM_WORLD_SIZE is \"0\", but a number of ranks is from 1 to 1048576"},
      {"PMI_SIZE=2x PMI_FD=7", "PMI_SIZE is \"2x\", but a number of ranks is from 1 to 1048576"},
      {"SLURM_STEP_NUM_TASKS=-1",
       "SLURM_STEP_NUM_TASKS is \"-1\", but a number of ranks is from 1 to 1048576"}};
  for (const Row& row : rows) {
    INFO(row.variables);
    CHECK(run_alone(row.variables, "probe").text == std::string(row.printed) + "\n");
  }
}

TEST_CASE("without a launcher a process is a group of its own and opens no MPI") {
  const Outcome all = run_alone("", "all 100"), open = run_alone("KILN_MPI=/absent", "open");
  CHECK(all.text == "rank 0 of 1: passed\n");
  CHECK(open.text == "rank 0 of 1: no library, as no launcher of MPI started this process\n");
  CHECK(run_alone("", "abort 5").status == 5);
}

TEST_CASE("errors of the library that KILN_MPI names") {
  struct Row {
    const char* path;
    const char* printed;
  };
  const Row rows[] = {
      {"libmpi.so.40", "KILN_MPI is \"libmpi.so.40\", which is no absolute path"},
      {"/absent/libmpi.so",
       "KILN_MPI: /absent/libmpi.so: cannot open shared object file: No such file or directory"}};
  for (const Row& row : rows) {
    const Outcome outcome =
        run_alone("OMPI_COMM_WORLD_SIZE=2 KILN_MPI=" + std::string(row.path), "open");
    CHECK(outcome.text == std::string(row.printed) + "\n");
    CHECK(outcome.status == 1);
  }
  const Outcome other = run_alone("PMI_SIZE=2 PMI_FD=9 KILN_MPI=" + kCommunicator, "open");
  CHECK(other.text == kCommunicator + " lacks MPI_Initialized\n");
}

TEST_CASE("errors where no library can be opened") {
  const std::string folder = folder_of_damaged_libraries().string();
  struct Row {
    const char* variables;
    std::vector<const char*> names;
    const char* begin;
    const char* package;
  };
  const Row rows[] = {
      {"OMPI_COMM_WORLD_SIZE=4", {"libmpi.so.40"}, "mpirun started 4 ranks", "libopenmpi3"},
      {"PMI_SIZE=2 PMI_FD=9",
       {"libmpi.so.12", "libmpich.so.12"},
       "mpiexec started 2 ranks",
       "libmpich12"},
      {"SLURM_STEP_NUM_TASKS=6",
       {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"},
       "srun started 6 ranks",
       "libopenmpi3 or libmpich12"},
      {"SLURM_STEP_NUM_TASKS=6 SLURM_MPI_TYPE=pmi2",
       {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40"},
       "srun started 6 ranks",
       "libmpich12 or libopenmpi3"},
      {"SLURM_STEP_NUM_TASKS=6 PMI_SIZE=6 PMI_FD=9",
       {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40"},
       "srun started 6 ranks",
       "libmpich12 or libopenmpi3"}};
  for (const Row& row : rows) {
    std::string text = std::string(row.begin) + ", but no MPI library can be opened: ";
    std::vector<const char*> names = row.names;
    names.insert(names.end(), {"libmpi_abi.so.1", "libmpi_abi.so.0"});
    for (const char* name : names) text += folder + "/" + name + ": file too short; ";
    text += "searched the system's loader; on Debian, install " + std::string(row.package) + "\n";
    CHECK(run_alone(row.variables + (" LD_LIBRARY_PATH=" + folder), "open").text == text);
  }
}

TEST_CASE("the communicator needs no library of MPI and exports one symbol") {
  const Outcome needed = run_shell("readelf -d " + kCommunicator + " | grep NEEDED");
  INFO(needed.text);
  CHECK(needed.text.find("libc.so") != std::string::npos);
  CHECK(needed.text.find("mpi") == std::string::npos);
  const Outcome symbols = run_shell("nm -D --defined-only " + kCommunicator + " | cut -d' ' -f3");
  CHECK(symbols.text == "kiln_communicator_query\n");
}
