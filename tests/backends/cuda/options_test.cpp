// Tests options of an instance, from its list and from the environment.
#include "backends/cuda/cuda_options.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"

using namespace kiln;
using namespace kiln::cuda;

namespace {

std::string rejection(const sdk::Options& options) {
  try {
    read_options(options);
  } catch (const sdk::Failure& failure) {
    CHECK(failure.code() == KILN_CODE_INVALID_ARGUMENT);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options: without any, the first device and no limit") {
  const testing::EnvironmentVariable driver("KILN_CUDA_DRIVER", std::nullopt);
  const CudaOptions options = read_options({});
  CHECK_FALSE(options.device);
  CHECK_FALSE(options.collectives_through_host);
  CHECK(options.memory_limit == INT64_MAX);
  CHECK(options.driver.search_path.configured.empty());
  CHECK_FALSE(options.driver.device_nodes.empty());
}

TEST_CASE("options: an option wins over its variable, an empty one counts as none") {
  const testing::EnvironmentVariable device("KILN_CUDA_DEVICE", "3");
  const testing::EnvironmentVariable limit("KILN_CUDA_MEMORY_LIMIT", "1000");
  CHECK(read_options({}).device == 3);
  CHECK(read_options({{"device", "5"}}).device == 5);
  CHECK(read_options({{"device", ""}}).device == 3);
  CHECK(read_options({}).memory_limit == 1000);
  // A variable that an option overrides is not read.
  const testing::EnvironmentVariable graphs("KILN_CUDA_GRAPHS", "perhaps");
  CHECK_FALSE(read_options({{"graphs", "false"}}).uses_graphs);
}

TEST_CASE("options: folders of libraries") {
  const CudaOptions options =
      read_options({{"driver", "/a:/b c:"}, {"libraries", "/toolkit/lib64"}});
  CHECK(options.driver.search_path.configured == std::vector<std::string>{"/a", "/b c"});
  CHECK(options.driver.device_nodes.empty());
  CHECK(options.compiler.search_path.configured == std::vector<std::string>{"/toolkit/lib64"});
  CHECK(options.cublaslt.search_path.configured == std::vector<std::string>{"/toolkit/lib64"});
  CHECK(options.cudnn.search_path.configured == std::vector<std::string>{"/toolkit/lib64"});
  CHECK(options.nccl.search_path.configured == std::vector<std::string>{"/toolkit/lib64"});
}

TEST_CASE("options: tf32 is off unless it is asked for") {
  CHECK_FALSE(read_options({}).tf32);
  CHECK(read_options({{"tf32", "true"}}).tf32);
  const testing::EnvironmentVariable on("KILN_CUDA_TF32", "true");
  CHECK(read_options({}).tf32);
  CHECK_FALSE(read_options({{"tf32", "false"}}).tf32);
  CHECK(read_options({{"tf32", "1"}}).tf32);
  CHECK_FALSE(read_options({{"tf32", "0"}}).tf32);
}

TEST_CASE("options: results are deterministic unless others are allowed") {
  CHECK(read_options({}).deterministic);
  CHECK_FALSE(read_options({{"deterministic", "false"}}).deterministic);
  const testing::EnvironmentVariable off("KILN_CUDA_DETERMINISTIC", "false");
  CHECK_FALSE(read_options({}).deterministic);
  CHECK(read_options({{"deterministic", "true"}}).deterministic);
}

TEST_CASE("options: collectives run by NCCL unless the host is to run them") {
  CHECK_FALSE(read_options({{"collectives", "nccl"}}).collectives_through_host);
  const testing::EnvironmentVariable host("KILN_CUDA_COLLECTIVES", "host");
  CHECK(read_options({}).collectives_through_host);
  CHECK_FALSE(read_options({{"collectives", "nccl"}}).collectives_through_host);
  CHECK(rejection({{"collectives", "ring"}}) == "collectives is 'ring' but needs nccl or host");
}

TEST_CASE("options: bad ones are errors that name them") {
  const testing::EnvironmentVariable none("KILN_CUDA_DEVICE", "");
  CHECK(rejection({{"speed", "9"}}) ==
        "the cuda backend has no option speed, only device, driver, libraries, memory_limit, arch, "
        "graphs, tf32, deterministic, collectives");
  for (const std::string value : {"one", "-1", "1x", "99999999999", "99999999999999999999"}) {
    CHECK(rejection({{"device", value}}) ==
          "device is '" + value + "' but needs the number of a device from 0 to 2147483647");
  }
  for (const std::string value : {"0", "-5", "8G", "99999999999999999999"}) {
    CHECK(rejection({{"memory_limit", value}}) ==
          "memory_limit is '" + value +
              "' but needs a number of bytes from 1 to 9223372036854775807");
  }
  CHECK(rejection({{"tf32", "yes"}}) == "tf32 is 'yes' but needs true or false");
  CHECK(rejection({{"driver", "lib"}}) ==
        "driver is 'lib' but needs absolute folders, separated by colons");
  CHECK(read_options({{"arch", "sm_90"}}).architecture == 90);
  CHECK(read_options({{"arch", "100"}}).architecture == 100);
  CHECK(read_options({{"arch", "100"}}).architecture_source == "arch");
  for (const std::string value : {"sm_new", "hopper", "sm_", "sm_1", "sm_75", "sm_90a", "-90"}) {
    CHECK(rejection({{"arch", value}}) ==
          "arch is '" + value + "' but needs an architecture such as sm_90, at least sm_80");
  }
  CHECK(rejection({{"graphs", "yes"}}) == "graphs is 'yes' but needs true or false");
  CHECK_FALSE(read_options({{"graphs", "false"}}).uses_graphs);
  const testing::EnvironmentVariable bad("KILN_CUDA_MEMORY_LIMIT", "much");
  CHECK(rejection({}) ==
        "KILN_CUDA_MEMORY_LIMIT is 'much' but needs a number of bytes from 1 to "
        "9223372036854775807");
}

TEST_CASE("options: each name that is listed is one that can be set") {
  const std::vector<std::string_view> names = option_names();
  CHECK(names.size() == 9);
  for (const std::string_view name : names) {
    CHECK(rejection({{std::string(name), ""}}) == "");
  }
}
