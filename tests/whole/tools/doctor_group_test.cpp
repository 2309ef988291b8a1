// Tests what kiln doctor says about groups of ranks, with launchers that only print their version
// and a library that only has one.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <rapidjson/document.h>

#include <filesystem>
#include <string>

namespace fs = std::filesystem;
using kiln::testing::has;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

/// An MPI in folders of its own: bin/mpirun, and lib with the library under the names given.
struct Installation {
  explicit Installation(const std::string& version, const std::vector<std::string>& libraries = {})
      : root(fs::canonical(scratch.folder()).string()) {
    for (const char* folder : {"bin", "lib"}) fs::create_directories(scratch.path(folder));
    for (const std::string& name : libraries) {
      fs::copy_file(KILN_BINARY_DIR "/lib/tests/libmpi_stub.so", scratch.path("lib/" + name));
    }
    if (version.empty()) return;
    const std::string launcher = scratch.write("bin/mpirun", "#!/bin/sh\necho '" + version + "'\n");
    fs::permissions(launcher, fs::perms::owner_all);
  }
  Outcome doctor(const std::string& variables, const std::string& options = "") const {
    return run_shell("PATH='" + root + "/bin' KILN_BACKEND=reference " + variables +
                     " '" KILN_BINARY_DIR "/bin/kiln' doctor " + options);
  }

  Scratch scratch;
  std::string root;
};

const std::string kCommunicator =
    "\ncommunicator: mpi, " KILN_BINARY_DIR "/lib/libkilncomm_mpi.so\n";
const std::string kNone =
    "launcher: none, as neither mpirun nor mpiexec of Open MPI or MPICH is on PATH; on Debian, "
    "install openmpi-bin or mpich";

}  // namespace

TEST_CASE("kiln doctor says in one line that there is no MPI") {
  for (const std::string version : {"", "mpirun of somebody else"}) {
    const Installation none(version);
    const Outcome outcome = none.doctor("KILN_MPI= KILN_COMMUNICATOR=");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.text, "\n" + kNone + "\n"));
    for (const char* line : {"\ncommunicator: ", "\nMPI library: ", "\nrank: ", "no group"}) {
      CHECK_FALSE(has(outcome.text, line));
    }
  }
}

TEST_CASE("kiln doctor names the launcher and the library that its ranks would open") {
  const struct {
    std::string version, shown;
    std::vector<std::string> libraries;
    std::string opened;
  } rows[] = {
      {"mpirun (Open MPI) 9.9",
       "mpirun (Open MPI) 9.9",
       {"libmpi.so.40", "libmpi.so.12"},
       "libmpi.so.40"},
      {"HYDRA build details:\n    Version:     9.9",
       "Hydra 9.9",
       {"libmpi.so.40", "libmpi.so.12"},
       "libmpi.so.12"},
      {"mpirun (Open MPI) 9.9",
       "mpirun (Open MPI) 9.9",
       {"libmpi.so.40", "libmpi_abi.so.0"},
       "libmpi_abi.so.0"},
  };
  for (const auto& row : rows) {
    const Installation mpi(row.version, row.libraries);
    const Outcome outcome = mpi.doctor("");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.text, "\nlauncher: " + mpi.root + "/bin/mpirun (" + row.shown + ")" +
                                kCommunicator + "MPI library: Stub MPI v1.2 (" + mpi.root +
                                "/lib/" + row.opened + "), which is beside the launcher\n"));
    CHECK_FALSE(has(outcome.text, "\nrank: "));
  }
}

TEST_CASE("kiln doctor tells the rank of a process that a launcher started") {
  const Installation mpi("", {"libmine.so"});
  const std::string library = mpi.root + "/lib/libmine.so";
  const struct {
    std::string variables, shown;
  } rows[] = {
      {"OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3", "3 of 4, started by mpirun"},
      {"PMI_SIZE=2 PMI_FD=9 PMI_RANK=1", "1 of 2, started by mpiexec"},
      {"SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=5", "5 of 8, started by srun"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = mpi.doctor(row.variables + " KILN_MPI='" + library + "'", "--json");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    rapidjson::Document json;
    json.Parse(outcome.text.c_str());
    REQUIRE(json.IsObject());
    const auto& group = json["group"];
    REQUIRE(group.Size() == 4);
    CHECK(group[0].GetString() == kNone);
    CHECK("\n" + std::string(group[1].GetString()) + "\n" == kCommunicator);
    CHECK(group[2].GetString() == "rank: " + row.shown);
    CHECK(group[3].GetString() ==
          "MPI library: Stub MPI v1.2 (" + library + "), which KILN_MPI names");
  }
}

TEST_CASE("kiln doctor names what keeps ranks from a group") {
  const Installation damaged("mpirun (Open MPI) 9.9");
  damaged.scratch.write("lib/libmpi.so.40", "text");
  const struct {
    std::string variables, line;
  } rows[] = {
      {"KILN_MPI=libmpi.so",
       "no group of ranks: KILN_MPI is \"libmpi.so\", which is no absolute path (communicator mpi"},
      {"KILN_MPI=/none.so", "no group of ranks: KILN_MPI: /none.so: cannot open shared object"},
      {"KILN_MPI='" + damaged.root + "/lib/libmpi.so.40'", "/lib/libmpi.so.40: file too short"},
      {"KILN_COMMUNICATOR=nowhere",
       "communicator: no communicator 'nowhere'; looked for libkilncomm_nowhere.so in "},
      {"KILN_COMMUNICATOR=../x",
       "communicator: communicator '../x' is neither a name nor an absolute path "
       "(KILN_COMMUNICATOR)\n"},
      {"KILN_COMMUNICATOR='" KILN_BINARY_DIR "/lib/libkiln_reference.so'",
       "is not a Kiln communicator: it does not export kiln_communicator_query "
       "(KILN_COMMUNICATOR)\n"},
      {"OMPI_COMM_WORLD_SIZE=0",
       "no group of ranks: OMPI_COMM_WORLD_SIZE is \"0\", but a number of ranks is from 1 to "},
  };
  for (const auto& row : rows) {
    const Outcome outcome = damaged.doctor(row.variables);
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.text, row.line));
  }
}
