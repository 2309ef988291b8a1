// kiln launch with launchers that only print their arguments.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <filesystem>
#include <string>

using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

/// A launcher on PATH that prints its words, one on each line, and exits with status 5.
void write_launcher(const Scratch& folder, const std::string& name, const std::string& version) {
  const std::string path =
      folder.write(name, "#!/bin/sh\n[ \"$1\" = --version ] && echo '" + version +
                             "' && exit\nprintf '%s\\n' \"$@\"\nexit 5\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// Standard output and error.
Outcome launch(const std::string& path, const std::string& arguments) {
  return run_shell("PATH='" + path + "':/usr/bin:/bin '" KILN_BINARY_DIR "/bin/kiln' launch " +
                   arguments + " 2>&1");
}

}  // namespace

TEST_CASE("kiln launch gives Open MPI the flags that ranks need") {
  const Scratch folder;
  write_launcher(folder, "mpirun", "mpirun (Open MPI) 4.1.4");
  const std::string mpirun = folder.folder() + "/mpirun";
  const Outcome shown = launch(folder.folder(), "-n 4096 --dry-run -- ./train --batch 'a b'");
  CHECK(shown.status == 0);
  CHECK(shown.text == mpirun + " -n 4096 --bind-to none --oversubscribe ./train --batch 'a b'\n");
  const Outcome hosts =
      launch(folder.folder(), "-n 4096 --hosts hosts.txt --allow-run-as-root --dry-run -- ./train");
  CHECK(hosts.text ==
        mpirun + " -n 4096 --bind-to none --allow-run-as-root --hostfile hosts.txt ./train\n");
}

TEST_CASE("kiln launch becomes the launcher") {
  const Scratch folder;
  write_launcher(folder, "mpirun", "HYDRA build details:");
  const Outcome outcome = launch(folder.folder(), "-n 2 -- ./train '' -n 3");
  CHECK(outcome.status == 5);
  CHECK(outcome.text ==
        folder.folder() + "/mpirun -n 2 ./train '' -n 3\n" + "-n\n2\n./train\n\n-n\n3\n");
}

TEST_CASE("kiln launch skips programs that are no launchers, and says what is missing") {
  const Scratch folder;
  for (const char* name : {"mpirun", "mpiexec", "mpiexec.hydra"}) {
    write_launcher(folder, name, "mpirun of somebody else");
  }
  const Outcome outcome = launch(folder.folder(), "-n 2 -- ./train");
  CHECK(outcome.status == 1);
  CHECK(outcome.text ==
        "kiln launch: neither mpirun nor mpiexec of Open MPI or MPICH is on PATH; on Debian, "
        "install openmpi-bin or mpich\n");
}
