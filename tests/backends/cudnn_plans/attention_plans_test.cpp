// Every form and a range of sizes of attention has an execution plan of the real cuDNN. It shares
// nothing with the fake cuDNN, which says itself which graphs have engines.
#include "backends/cuda/libraries/attention_graph.h"
#include "tests/backends/cuda/h100_text.h"
#include "tests/support/catch.h"
#include "test_folders.h"

#include <dlfcn.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

using namespace kiln;
using namespace kiln::cuda;

namespace {

#ifdef __SANITIZE_ADDRESS__
/// cuDNN leaks memory when it lists engines.
using UncheckedLeaks = __lsan::ScopedDisabler;
#else
struct UncheckedLeaks {};
#endif

/// Null, with a warning that says why, where the machine has no cuDNN 9.19. The driver is opened
/// first: the loader takes it for libcuda.so.1.
std::shared_ptr<const api::Cudnn> machines_cudnn() {
  const std::string driver = std::string(KILN_BINARY_DIR) + "/lib/cudnn_plans/libcuda.so.1";
  REQUIRE(::dlopen(driver.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
  api::Messages messages;
  try {
    const std::shared_ptr<const api::Cudnn> library = api::open_cudnn({}, messages);
    if (library->version / 100 == 919) return library;
    WARN("left out: cuDNN is " << library->version_text() << ", not 9.19");
  } catch (const sdk::Failure& failure) {
    CHECK(failure.code() == KILN_CODE_NOT_FOUND);
    WARN("left out: " << failure.what());
  }
  return nullptr;
}

BackendDescriptor h100(const api::Cudnn& library) {
  const std::string text = cuda_test::kH100Text;
  BackendDescriptor device(library, nullptr, api::DescriptorType::Device, "describe a device");
  device.set_list(api::CudnnAttribute::DeviceText,
                  std::vector<char>(text.c_str(), text.c_str() + text.size() + 1));
  device.finalize();
  return device;
}

}  // namespace

TEST_CASE("cudnn plans: attention has an engine for an H100", "[slow]") {
  const std::shared_ptr<const api::Cudnn> library = machines_cudnn();
  if (library == nullptr) return;
  [[maybe_unused]] const UncheckedLeaks unchecked;
  const BackendDescriptor device = h100(*library);
  const AttentionDescription rows[] = {
      {.dtype = DType::BFloat16, .matrices = 24, .t = 1024, .s = 1024, .d = 64, .e = 64},
      {.dtype = DType::Float16, .matrices = 32768, .t = 1, .s = 1, .d = 8, .e = 8, .causal = true},
      // The most matrices of these sizes whose tiles of halves fit into the workspace.
      {.dtype = DType::BFloat16, .matrices = 7, .t = 8192, .s = 8192, .d = 64, .e = 64},
      {.dtype = DType::BFloat16, .matrices = 3, .t = 1000, .s = 333, .d = 40, .e = 128},
      {.dtype = DType::Float16, .matrices = 1, .t = 17, .s = 65, .d = 128, .e = 8, .causal = true},
  };
  std::int64_t largest = 0;
  for (const AttentionDescription& row : rows) {
    for (const bool is_gradient : {false, true}) {
      AttentionDescription attention = row;
      attention.is_gradient = is_gradient;
      INFO(text_of(attention));
      for (const std::int64_t alignment : {2, 16}) {
        const AttentionPlan plan(*library, attention, alignment, {.properties = &device});
        largest = std::max(largest, plan.workspace_bytes());
      }
    }
  }
  WARN("the largest workspace has " << largest << " bytes");
  // The matrices of halves of the first gradient, or one tile for each of the second.
  CHECK(largest >= 24 * 1024 * 1024 * 2);
  CHECK(largest <= kMaxWorkspaceBytes);
  const AttentionDescription wide{
      .dtype = DType::BFloat16, .matrices = 2, .t = 64, .s = 64, .d = 256, .e = 256};
  CHECK_NOTHROW(AttentionPlan(*library, wide, 16, {.properties = &device}));
}
