// A module that a host opens at run time: it is linked to Kiln, and is closed and opened again.
#include "tests/process/hosts/sample.h"

#include <memory>

namespace {
std::unique_ptr<hosts_test::Sample>& kept() {
  static std::unique_ptr<hosts_test::Sample> sample;
  return sample;
}
}  // namespace

/// Returns 0 when everything was right.
extern "C" __attribute__((visibility("default"))) int use_kiln() {
  if (!kept()) kept() = std::make_unique<hosts_test::Sample>("cpu");
  kiln::set_value(kept()->w, kiln::Array::full({8, 16}, 0.25));
  return kept()->right(3, 0.25) && hosts_test::works_on("reference") ? 0 : 1;
}
