// The handwritten digits of slow tests, and a small file of the same format for other tests.
#pragma once

#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <string>

namespace kiln::testing {

/// Fetches the digits at the first call on a machine. Fails the test where they cannot be fetched.
inline std::string fetch_digits(const std::string& source_folder) {
  const Outcome fetched = run_shell("'" + source_folder + "/tools/digits'");
  INFO(fetched.text);
  REQUIRE(fetched.status == 0);
  return last_line(fetched.text);
}

/// Draws images that are easily distinguished: a row and a column of ink, and some noise.
inline std::string drawn_digits(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const int digit = i % 10;
    for (int pixel = 0; pixel < 64; ++pixel) {
      const bool ink = pixel / 8 == digit % 5 + digit / 5 || pixel % 8 == digit / 2;
      text += std::to_string(ink ? 16 - (i + pixel) % 4 : (i * pixel) % 3) + ",";
    }
    text += std::to_string(digit) + "\n";
  }
  return text;
}

}  // namespace kiln::testing
