// Tests modules of older versions with retired ops: both readers replace these by current ops.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/module/read.h"

#include <kiln/error.h>

#include <string_view>

using namespace kiln;

namespace {

/// %1 = fits %0 dims=[3,1] over x float32[n,4], as version 0.2 of the binary form wrote it.
constexpr std::string_view kFits =
    "4b494c4e4d4f444c000002000200060001000000b8000000000000001600000000000000b6ea22cf65b43f4e"
    "02000000ce000000000000000b00000000000000a32fc3cac73fb2d103000000d90000000000000024000000"
    "000000003ac444d33e8812f704000000fd000000000000000100000000000000dfb701864cbd63af05000000"
    "fe000000000000000100000000000000dfb701864cbd63af06000000ff000000000000002300000000000000"
    "a3e3f1edcddeab980a6b696c6e20302e312e300777696e646f777301016e010b020001020100000800020100"
    "01780b02000102010000080000010040020600020001000001000100000101000000000005612e637070010b"
    "706c616365686f6c6465720105612e6370700206636f6e763264";

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::string with_fits(const std::string& sizes) {
  return "kir 0.1\nmodule \"windows\"\nsymbol n\n"
         "%0 = placeholder id=0 name=\"x\" : float32[n,4] ; placeholder a.cpp:1\n"
         "%1 = fits %0 dims=" +
         sizes +
         " : float32[n,4] ; conv2d a.cpp:2\n"
         "inputs %0\noutputs %1\n";
}

const std::string kRequire =
    "%1 = require %0 kind=1 left=3 right=n "
    "message=\"a window over {left} elements does not fit into {right} of axis 0\" "
    ": float32[n,4] ; conv2d a.cpp:2\n";

}  // namespace

TEST_CASE("retired op fits: read as require") {
  const std::string from_bytes = module::print_module(module::read_module(bytes_of(kFits), {}));
  const std::string from_text =
      module::print_module(module::parse_module(with_fits("[3,1]"), "old.kir"));
  CHECK(from_bytes == from_text);
  CHECK(from_text.find(kRequire) != std::string::npos);
  // Sizes that always fit still leave a node, which has the line.
  const std::string always =
      module::print_module(module::parse_module(with_fits("[0,4]"), "old.kir"));
  CHECK(always.find("%1 = identity %0") != std::string::npos);
}

TEST_CASE("retired op fits: an error names the line") {
  const auto error_of = [](const std::string& sizes) {
    return testing::error_text<IoError>([&] { module::parse_module(with_fits(sizes), "old.kir"); });
  };
  CHECK(error_of("[3]").find("old.kir:5:6: 1 sizes for rank 2") != std::string::npos);
  CHECK(error_of("[3,5]").find("a window over 5 elements does not fit into 4 of axis 1") !=
        std::string::npos);
}
