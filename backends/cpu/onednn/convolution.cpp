// One primitive for each size of a part. The gradient of a kernel is summed up in parts, too: each
// has a sum of its own in the library's layout, and they are added in order. Once the library is
// gone, packing and parts do nothing, and finish() computes the whole as plain sums.
#include "backends/cpu/onednn/convolutions.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/onednn/after_convolution.h"
#include "backends/cpu/onednn/convolution_parts.h"
#include "backends/cpu/onednn/ending.h"
#include "backends/cpu/onednn/openmp.h"
#include "backends/cpu/onednn/products.h"
#include "backends/cpu/onednn/room.h"
#include "backends/cpu/onednn/runner.h"
#include "backends/cpu/onednn/turned_convolution.h"
#include "core/types/text.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;
using codegen::PreparedConvolution;
using Ints = std::vector<std::int64_t>;

std::int64_t product(const Ints& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// ---- layouts ----

/// Channels last in memory; the library names the batch and the channels first.
Layout activations(std::int64_t batch, std::int64_t channels, const Ints& sizes) {
  Ints dims{batch, channels}, strides{channels * product(sizes), 1};
  std::int64_t stride = channels;
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  strides.resize(dims.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i + 2] = stride;
    stride *= sizes[i];
  }
  return Layout(dims, strides);
}

Ints kernel_dims(const Convolution& c) {
  Ints dims{c.filters, c.channels};
  if (c.groups > 1) dims.insert(dims.begin(), c.groups);
  dims.insert(dims.end(), c.windows.begin(), c.windows.end());
  return dims;
}

Ints plain_strides(const Convolution& c) {
  const std::int64_t filters = c.groups * c.filters;
  Ints strides{1, filters};
  if (c.groups > 1) strides.insert(strides.begin(), c.filters);
  const std::size_t first = strides.size();
  strides.resize(first + c.windows.size());
  std::int64_t stride = c.channels * filters;
  for (std::size_t i = c.windows.size(); i-- > 0;) {
    strides[first + i] = stride;
    stride *= c.windows[i];
  }
  return strides;
}

ConvolutionLayouts layouts(const Convolution& c, const Layout* kernel) {
  ConvolutionLayouts all{activations(c.batch, c.groups * c.channels, c.sizes),
                         kernel ? Layout::copy(kernel->view()) : Layout(kernel_dims(c)),
                         activations(c.batch, c.groups * c.filters, c.places),
                         c.strides, {}, c.low, {}};
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    all.dilations.push_back(c.dilations[i] - 1);
    const std::int64_t width = (c.windows[i] - 1) * c.dilations[i] + 1;
    const std::int64_t needed = (c.places[i] - 1) * c.strides[i] + width - c.sizes[i] - c.low[i];
    all.high.push_back(std::max(needed, std::int64_t{0}));
  }
  return all;
}

// ---- the library's ----

class ByOneDnn final : public PreparedConvolution {
 public:
  ByOneDnn(const Convolution& c, bool packed) : c_(c), packed_(packed) {
    const OneOpenmpThread one;
    if (!cut_by_rows()) cut(parts_by_images(c));
    for (const auto& [piece, runner] : runners_) {
      part_scratch_ = std::max(part_scratch_, aligned(runner->scratch_bytes()));
    }
    shared_bytes_ = as_it_lies_ ? 0 : kernel_bytes_ * (packs() ? 1 : parts_.size());
    reorder_scratch_ = aligned(reorder_->scratch_bytes());
  }

  /// Whether it is the library's fast kind, which it has forward alone.
  bool is_batch_reduced() const { return implementation_.rfind("brg", 0) == 0; }

  std::size_t packed_bytes() const override {
    return packed_ && !as_it_lies_ ? kernel_bytes_ : 0;
  }
  std::size_t scratch_bytes() const override {
    return shared_bytes_ + std::max(part_scratch_ * parts_.size(), reorder_scratch_);
  }
  std::size_t parts() const override { return parts_.size(); }
  std::string description() const override {
    const char* kernel = !packs() ? "" : as_it_lies_ ? ", kernel as it lies"
                         : packed_ ? ", kernel packed before" : ", packing the kernel";
    return text("oneDNN ", onednn_version(), " ", implementation_, kernel);
  }

  void pack(const void* filter, void* packed) const override {
    std::vector<std::byte> scratch(reorder_scratch_ + 64);
    const LibraryUse library;
    if (!library) return;
    reorder(const_cast<float*>(static_cast<const float*>(filter)), packed, aligned_within(scratch));
  }

  void start(const float* kernel, void* scratch) const override {
    const LibraryUse library;
    if (!library || !packs() || as_it_lies_) return;
    reorder(const_cast<float*>(kernel), scratch, behind_shared(scratch));
  }

  void run(std::size_t number, const float* first, const float* second, const void* packed,
           const float* bias, float* result, void* scratch) const override {
    const LibraryUse library;
    if (!library) return;
    const Part& part = parts_[number];
    void* shared = scratch;
    if (c_.role == ConvRole::Kernel) {
      shared = static_cast<std::byte*>(scratch) + number * kernel_bytes_;
    } else if (as_it_lies_) {
      shared = const_cast<float*>(c_.role == ConvRole::Output ? second : first);
    } else if (packed) {
      shared = const_cast<void*>(packed);
    }
    const ConvolutionPart& place = part.place;
    auto* input = const_cast<float*>(c_.role == ConvRole::Input ? result : first) + place.input;
    auto* output = const_cast<float*>(c_.role == ConvRole::Output ? result : second) + place.output;
    void* own = static_cast<std::byte*>(behind_shared(scratch)) + number * part_scratch_;
    check(part.runner->run({input, shared, output}, own));
    if (!ran_once_) {
      library_has_done("convolution ran" + description());
      ran_once_ = true;
    }
    if (!c_.bias && !c_.relu) return;
    const auto pixels = static_cast<std::size_t>(place.piece.batch * product(place.piece.places));
    const auto filters = static_cast<std::size_t>(c_.groups * c_.filters);
    add_bias_and_relu(output, pixels, filters, bias, c_.relu);
  }

  void finish(const float* first, const float* second, const float* bias, float* result,
              void* scratch) const override {
    const LibraryUse library;
    if (!library) {
      const auto loops = make_loop_convolution(c_);
      return loops->run(0, first, second, nullptr, bias, result, nullptr);
    }
    if (c_.role != ConvRole::Kernel) return;
    auto* sum = static_cast<float*>(scratch);
    for (std::size_t part = 1; part < parts_.size(); ++part) {
      const float* more = sum + part * kernel_bytes_ / sizeof(float);
      for (std::size_t i = 0; i < kernel_count_; ++i) sum[i] += more[i];
    }
    reorder(sum, result, behind_shared(scratch));
  }

 private:
  struct Part {
    ConvolutionPart place;
    const Runner* runner = nullptr;
  };

  /// Whether rows of images are the parts. All of them have the implementation of whole images: it
  /// is the library's choice for these sizes, and elements then do not depend on their rows.
  bool cut_by_rows() {
    std::vector<ConvolutionPart> parts = parts_by_rows(c_);
    if (parts.empty()) return false;
    Convolution image = c_;
    image.batch = 1;
    prepare_kernel(describe(image));
    for (const ConvolutionPart& part : parts) {
      if (implementation_of(describe(part.piece)) == implementation_) continue;
      kernel_.reset();
      return false;
    }
    cut(std::move(parts));
    return true;
  }

  void cut(std::vector<ConvolutionPart> parts) {
    for (ConvolutionPart& part : parts) {
      std::unique_ptr<Runner>& runner = runners_[part.piece];
      if (!runner) runner = make_runner(part.piece);
      parts_.push_back({std::move(part), runner.get()});
    }
  }

  /// With the layout of the kernel once it is known.
  Handle<dnnl_primitive_desc_t> describe(const Convolution& piece) const {
    return describe_convolution(static_cast<LibraryRole>(c_.role),
                                layouts(piece, kernel_ ? &*kernel_ : nullptr));
  }

  std::unique_ptr<Runner> make_runner(const Convolution& piece) {
    const auto desc = describe(piece);
    if (!kernel_) prepare_kernel(desc);
    ConvolutionLayouts all = layouts(piece, &*kernel_);
    std::vector<RunnerArgument> arguments;
    const bool input = c_.role == ConvRole::Input, output = c_.role == ConvRole::Output;
    const bool kernel = c_.role == ConvRole::Kernel;
    arguments.push_back({input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, std::move(all.input)});
    // As bytes where it is read: version 2 writes the padding of what is packed whenever a memory
    // object is pointed at it, which other threads may be reading.
    arguments.push_back({kernel ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
                         kernel ? Layout::copy(kernel_->view()) : Layout::bytes(kernel_bytes_)});
    arguments.push_back({output ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, std::move(all.output)});
    return std::make_unique<Runner>(desc, std::move(arguments));
  }

  void prepare_kernel(const Handle<dnnl_primitive_desc_t>& desc) {
    const bool made = c_.role == ConvRole::Kernel;
    const LayoutView liked =
        layout_of(desc, made ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    implementation_ = implementation_of(desc);
    kernel_ = Layout::copy(liked);
    kernel_count_ = bytes_of(liked) / sizeof(float);
    kernel_bytes_ = aligned(bytes_of(liked));
    const Ints strides = plain_strides(c_);
    as_it_lies_ = !made && lies_as(liked, kernel_dims(c_), strides);
    const Layout plain(kernel_dims(c_), strides);
    const Layout& from = made ? *kernel_ : plain;
    const Layout& to = made ? plain : *kernel_;
    std::vector<RunnerArgument> arguments;
    arguments.push_back({DNNL_ARG_FROM, Layout::copy(from.view())});
    arguments.push_back({DNNL_ARG_TO, Layout::copy(to.view())});
    reorder_ = std::make_unique<Runner>(describe_reorder(from.view(), to.view()),
                                        std::move(arguments));
  }

  /// Whether the kernel is an operand.
  bool packs() const { return c_.role != ConvRole::Kernel; }

  void* behind_shared(void* scratch) const {
    return static_cast<std::byte*>(scratch) + shared_bytes_;
  }

  static void* aligned_within(std::vector<std::byte>& bytes) {
    void* place = bytes.data();
    std::size_t space = bytes.size();
    return std::align(64, bytes.size() - 64, place, space);
  }

  void reorder(void* from, void* to, void* scratch) const {
    check(reorder_->run({from, to}, scratch));
  }

  static void check(int status) {
    if (status != 0) fail_with(status, "in a convolution");
  }

  Convolution c_;
  mutable std::atomic<bool> ran_once_ = false;
  bool packed_;
  bool as_it_lies_ = false;  // the library reads the kernel where it is
  std::vector<Part> parts_;
  std::map<Convolution, std::unique_ptr<Runner>> runners_;  // by what a part computes
  std::optional<Layout> kernel_;
  std::unique_ptr<Runner> reorder_;
  std::string implementation_;
  std::size_t kernel_count_ = 0;  // floats of the kernel as the library likes it
  std::size_t kernel_bytes_ = 0, shared_bytes_ = 0, part_scratch_ = 0, reorder_scratch_ = 0;
};

}  // namespace

std::shared_ptr<const PreparedConvolution> make_convolution(const Convolution& convolution,
                                                            bool packed) {
  const LibraryUse library;
  if (!library) return make_loop_convolution(convolution);
  const Room room;
  room.require();
  try {
    if (const auto forward = turned(convolution)) {
      auto made = std::make_shared<ByOneDnn>(*forward, packed);
      library_has_done("convolution" + made->description());
      if (made->is_batch_reduced()) return make_turned_convolution(convolution, packed, made);
    }
    auto made = std::make_shared<ByOneDnn>(convolution, packed);
    library_has_done("convolution" + made->description());
    return made;
  } catch (const LibraryFailure&) {
    return make_loop_convolution(convolution);
  }
}

}  // namespace kiln::cpu
