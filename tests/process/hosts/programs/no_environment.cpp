// A host that clears its environment, as Python's os.environ.clear() does: environ is null then.
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

#include <cstdlib>
#include <filesystem>

int main() {
  expect(::clearenv() == 0, "clearenv");
  kiln::set_backend("auto");
  expect(!kiln::backend().empty(), "the choice of a backend");
  for (const char* backend : {"reference", "cpu"}) {
    expect(hosts_test::works_on(backend), backend);
    const hosts_test::Sample sample(backend);
    sample.f.dump("no-environment-dump");
    std::filesystem::remove_all("no-environment-dump");
  }
  kiln::set_threads(2);
  expect(kiln::floatx() == "float32", "the configuration");
  const kiln::Variable v = kiln::variable(kiln::Array(1.f), {.name = "v"});
  kiln::save_weights("no-environment.safetensors", {v});
  std::filesystem::remove("no-environment.safetensors");
  return finished();
}
