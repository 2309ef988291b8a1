// Tests with the machine's own cuDNN, where there is one: every claimed convolution has a valid
// description and an engine for an H100, without a device.
#include "backends/codegen/graph/make_padding_symmetric.h"
#include "backends/cuda/libraries/cudnn_claims.h"
#include "backends/cuda/libraries/convolution_plan.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda/h100_text.h"
#include "tests/core/ops/conv_loops.h"

#include "core/ops/op.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

using namespace kiln;
using namespace kiln::cuda;
using cuda_test::kH100Text;
using test::ConvRole;
using test::Geometry;

namespace {

#ifdef __SANITIZE_ADDRESS__
/// cuDNN leaks memory when it lists engines.
using UncheckedLeaks = __lsan::ScopedDisabler;
#else
struct UncheckedLeaks {};
#endif

/// Images as networks have them, in addition to the small ones of tests/core/ops.
const Geometry kImages[] = {
    {32, 1, 3, 64, {224, 224}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
    {32, 1, 64, 64, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {32, 1, 64, 128, {56, 56}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
    {32, 1, 64, 256, {56, 56}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {32, 64, 1, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {8, 1, 16, 32, {16, 16, 16}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {8, 1, 64, 64, {1000}, {5}, {1}, {2}, {8}, {0}},
};

ir::Value convolution_of(const Geometry& g, ConvRole role, DType dtype) {
  std::vector<ir::Value> operands;
  const test::Ints dims[] = {test::input_dims(g), test::filter_dims(g), test::output_dims(g)};
  for (const ConvRole one : {ConvRole::Input, ConvRole::Filter, ConvRole::Output}) {
    if (one == role) continue;
    operands.push_back(test::placeholder({dtype, test::as_dims(dims[static_cast<int>(one)])}));
  }
  return ir::make(ir::Op::Conv, test::attrs_of(g, role), operands);
}

/// The convolution that is claimed in the place of `value`, with symmetric padding.
ir::Value claimed(const ir::Value& value) {
  const CudnnClaims claims;
  const ir::Value result = codegen::make_padding_symmetric({value}, &claims)[0];
  return result.node->op == ir::Op::Slice ? result.node->operands[0] : result;
}

std::optional<ConvolutionDescription> description_of(const ir::Value& value, bool tf32 = false) {
  codegen::ConvolutionStep step;
  step.node = value.node.get();
  step.dtype = value.dtype();
  return describe(step, {.tf32 = tf32}, [](const ir::Dim& dim) { return dim.value(); });
}

/// Calls visit(description) for each geometry, role and dtype that is claimed and has elements.
template <class Visit>
void for_each_description(std::span<const Geometry> geometries, const Visit& visit) {
  for (const Geometry& g : geometries) {
    for (const ConvRole role : {ConvRole::Input, ConvRole::Filter, ConvRole::Output}) {
      for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
        const ir::Value value = convolution_of(g, role, dtype);
        if (CudnnClaims().rejection_of_convolution(*value.node)) continue;
        if (const auto description = description_of(claimed(value))) visit(*description);
      }
    }
  }
}

/// Null, with a warning that says why, where no cuDNN can be opened that needs no device.
std::shared_ptr<const api::Cudnn> machines_cudnn() {
  api::Messages messages;
  try {
    const std::shared_ptr<const api::Cudnn> library = api::open_cudnn({}, messages);
    if (library->version >= 90800) return library;
    WARN("left out: cuDNN " << library->version_text() << " takes no description of a device");
    return nullptr;
  } catch (const sdk::Failure& failure) {
    CHECK(failure.code() == KILN_CODE_NOT_FOUND);
    WARN("left out: " << failure.what());
    return nullptr;
  }
}

BackendDescriptor device_of(const api::Cudnn& library, const std::string& text) {
  BackendDescriptor device(library, nullptr, api::DescriptorType::Device, "describe a device");
  device.set_list(api::CudnnAttribute::DeviceText,
                  std::vector<char>(text.c_str(), text.c_str() + text.size() + 1));
  device.finalize();
  return device;
}

}  // namespace

TEST_CASE("convolution plans: rejections of dtypes, axes and groups") {
  const Geometry plain{1, 1, 2, 2, {4}, {2}, {1}, {1}, {0}, {0}};
  const auto rejection = [](const ir::Value& value) {
    return CudnnClaims().rejection_of_convolution(*value.node);
  };
  const ConvRole role = ConvRole::Output;
  CHECK_FALSE(rejection(convolution_of(plain, role, DType::Float32)));
  CHECK(rejection(convolution_of(plain, role, DType::Int32)) ==
        "cuDNN is used for floats alone, not for int32");
  CHECK(rejection(convolution_of(plain, role, DType::BFloat16)) ==
        "cuDNN takes multiples of 8 channels and filters in bfloat16, not 2 and 2");
  const Geometry whole{1, 1, 8, 16, {4}, {2}, {1}, {1}, {0}, {0}};
  CHECK_FALSE(rejection(convolution_of(whole, role, DType::Float16)));
  const Geometry groups{1, 2, 8, 16, {4}, {2}, {1}, {1}, {0}, {0}};
  CHECK(rejection(convolution_of(groups, role, DType::Float16)) ==
        "cuDNN takes one group of channels in float16");
  const Geometry dilated{1, 1, 1, 1, {5}, {2}, {1}, {1 << 20}, {1 << 20}, {0}};
  CHECK(rejection(convolution_of(dilated, role, DType::Float32)) ==
        "cuDNN takes symmetric padding alone: the image would grow by 1048576 elements of an axis");
  const Geometry points{2, 1, 2, 3, {}, {}, {}, {}, {}, {}};
  CHECK(rejection(convolution_of(points, role, DType::Float32)) ==
        "cuDNN takes 1 to 3 spatial axes, not 0");
}

TEST_CASE("convolution plans: layouts with channels last, filters first, and a second axis") {
  const Geometry g{2, 1, 3, 4, {6}, {3}, {2}, {1}, {1}, {1}};
  const auto found = description_of(convolution_of(g, ConvRole::Filter, DType::Float32), true);
  REQUIRE(found);
  CHECK(found->input == TensorLayout{{2, 3, 1, 6}, {18, 1, 18, 3}});
  CHECK(found->filter == TensorLayout{{4, 3, 1, 3}, {9, 1, 9, 3}});
  CHECK(found->output == TensorLayout{{2, 4, 1, 3}, {12, 1, 12, 4}});
  CHECK(found->strides == test::Ints{1, 2});
  CHECK(found->padding == test::Ints{0, 1});
  CHECK(found->tf32);
  CHECK_FALSE(description_of(convolution_of(g, ConvRole::Filter, DType::Float64), true)->tf32);
  CHECK(text_of(*found) ==
        "backward weights float32, input 2x3x1x6, filter 4x3x1x3, output 2x4x1x3");
}

TEST_CASE("convolution plans: the machine's cuDNN describes every form that is claimed") {
  const std::shared_ptr<const api::Cudnn> library = machines_cudnn();
  if (library == nullptr) return;
  int described = 0;
  const auto describe_one = [&](const ConvolutionDescription& convolution) {
    INFO(text_of(convolution));
    for (const std::int64_t alignment : {8, 16}) {
      // Without a handle or a device: a graph needs neither.
      CHECK_NOTHROW(ConvolutionGraph(*library, convolution, alignment, {}));
      ++described;
    }
  };
  for_each_description(test::kGeometries, describe_one);
  for_each_description(kImages, describe_one);
  WARN(described << " convolutions were described by cuDNN " << library->version_text());
  CHECK(described > 150);
}

TEST_CASE("convolution plans: the machine's cuDNN has an engine for an H100") {
  const std::shared_ptr<const api::Cudnn> library = machines_cudnn();
  if (library == nullptr) return;
  [[maybe_unused]] const UncheckedLeaks unchecked;
  const BackendDescriptor device = device_of(*library, kH100Text);
  int planned = 0;
  const auto plan_one = [&](const ConvolutionDescription& convolution) {
    INFO(text_of(convolution));
    const auto width = static_cast<std::int64_t>(dtype_bytes(convolution.dtype));
    for (const std::int64_t alignment : {width, std::int64_t{16}}) {
      CHECK_NOTHROW(ConvolutionPlan(*library, convolution, alignment, {.properties = &device}));
      ++planned;
    }
  };
  for_each_description(test::kGeometries, plan_one);
  for_each_description(kImages, plan_one);
  WARN(planned << " convolutions have an engine of cuDNN " << library->version_text());
  CHECK(planned > 150);
}
