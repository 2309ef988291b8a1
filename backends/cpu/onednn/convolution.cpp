// One primitive for each distinct size of a part. Backward weights run in parts, too: each part has
// a partial sum in oneDNN's layout, and finish() adds them in order. While the process exits,
// pack(), start() and run() do nothing, and finish() computes the whole convolution by plain loops.
#include "backends/cpu/onednn/convolutions.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/onednn/convolution_epilogue.h"
#include "backends/cpu/onednn/convolution_parts.h"
#include "backends/cpu/onednn/flipped_filter.h"
#include "backends/cpu/onednn/openmp.h"
#include "backends/cpu/onednn/runner.h"
#include "backends/cpu/onednn/status.h"
#include "backends/cpu/process_exit/jit_memory_check.h"
#include "backends/cpu/process_exit/library_guard.h"
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
using codegen::product;
using Ints = std::vector<std::int64_t>;

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// ---- layouts ----

/// Describes activations: channels last in memory; oneDNN's dimensions name batch and channels
/// first.
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

Ints filter_dims(const Convolution& c) {
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

/// Whether oneDNN's `jit_1x1` must not be taken. In version 2.6.3 its backward weights of strided
/// 1x1 filters write beyond the scratchpad whose size it reports, by 26 KB for 1x64x64x3 with
/// strides 2: seen below 16 channels (its block), avoided where channels are not whole blocks.
bool overruns_scratchpad(const Convolution& c) {
  const auto is_one = [](std::int64_t size) { return size == 1; };
  return c.role == ConvRole::Filter && c.channels % 16 != 0 &&
         std::all_of(c.windows.begin(), c.windows.end(), is_one) &&
         !std::all_of(c.strides.begin(), c.strides.end(), is_one);
}

/// `filter`: null lets oneDNN choose the filter's layout.
ConvolutionLayouts layouts(const Convolution& c, const Layout* filter) {
  ConvolutionLayouts all{.input = activations(c.batch, c.groups * c.channels, c.sizes),
                         .filter = filter ? Layout::copy(filter->view()) : Layout(filter_dims(c)),
                         .output = activations(c.batch, c.groups * c.filters, c.output_sizes),
                         .strides = c.strides,
                         .dilations = {},
                         .low = c.low,
                         .high = {}};
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    all.dilations.push_back(c.dilations[i] - 1);
    const std::int64_t width = (c.windows[i] - 1) * c.dilations[i] + 1;
    const std::int64_t needed =
        (c.output_sizes[i] - 1) * c.strides[i] + width - c.sizes[i] - c.low[i];
    all.high.push_back(std::max(needed, std::int64_t{0}));
  }
  if (overruns_scratchpad(c)) all.avoided = "jit_1x1";
  return all;
}

// ---- the prepared convolution ----

class OneDnnConvolution final : public PreparedConvolution {
 public:
  OneDnnConvolution(const Convolution& c, bool packed) : c_(c), packed_(packed) {
    const ScopedOneOpenmpThread one;
    if (!split_by_rows()) split_into(parts_by_images(c));
    for (const auto& [piece, runner] : runners_) {
      part_scratch_ = std::max(part_scratch_, aligned(runner->scratch_bytes()));
    }
    shared_bytes_ = filter_in_place_ ? 0 : filter_bytes_ * (packs() ? 1 : parts_.size());
    reorder_scratch_ = aligned(reorder_->scratch_bytes());
  }

  /// Whether oneDNN chose its fast batch-reduce implementation, which only forward passes have.
  bool is_batch_reduced() const { return implementation_.rfind("brg", 0) == 0; }

  std::size_t packed_bytes() const override {
    return packed_ && !filter_in_place_ ? filter_bytes_ : 0;
  }
  std::size_t scratch_bytes() const override {
    return shared_bytes_ + std::max(part_scratch_ * parts_.size(), reorder_scratch_);
  }
  std::size_t parts() const override { return parts_.size(); }
  std::string description() const override {
    const char* packing = !packs()           ? ""
                          : filter_in_place_ ? ", filter in place"
                          : packed_          ? ", filter prepacked"
                                             : ", packing the filter";
    return text("oneDNN ", onednn_version(), " ", implementation_, packing);
  }

  bool packs_like(const codegen::Packer& other) const override {
    const auto* same = dynamic_cast<const OneDnnConvolution*>(&other);
    return same && same->packed_bytes() == packed_bytes() &&
           filter_dims(same->c_) == filter_dims(c_) &&
           is_equal(same->filter_->view(), filter_->view());
  }
  std::size_t retained_bytes() const override {
    constexpr std::size_t kPrimitiveBytes = 1 << 16;  // generated code and descriptions, about
    return (runners_.size() + 1) * kPrimitiveBytes;
  }

  void pack(const void* filter, void* packed) const override {
    std::vector<std::byte> scratch(reorder_scratch_ + 64);
    const LibraryGuard guard;
    if (!guard) return;
    reorder(const_cast<float*>(static_cast<const float*>(filter)), packed, aligned_within(scratch));
  }

  void start(const float* filter, void* scratch) const override {
    const LibraryGuard guard;
    if (!guard || !packs() || filter_in_place_) return;
    reorder(const_cast<float*>(filter), scratch, behind_shared(scratch));
  }

  void run(std::size_t number, const float* first, const float* second, const void* packed,
           const float* bias, float* result, void* scratch) const override {
    const LibraryGuard guard;
    if (!guard) return;
    const Part& part = parts_[number];
    void* shared = scratch;
    if (c_.role == ConvRole::Filter) {
      shared = static_cast<std::byte*>(scratch) + number * filter_bytes_;
    } else if (filter_in_place_) {
      shared = const_cast<float*>(c_.role == ConvRole::Output ? second : first);
    } else if (packed) {
      shared = const_cast<void*>(packed);
    }
    const ConvolutionPart& slice = part.slice;
    auto* input = const_cast<float*>(c_.role == ConvRole::Input ? result : first) + slice.input;
    auto* output = const_cast<float*>(c_.role == ConvRole::Output ? result : second) + slice.output;
    void* own = static_cast<std::byte*>(behind_shared(scratch)) + number * part_scratch_;
    check(part.runner->run({input, shared, output}, own));
    if (!ran_once_) {
      guard_exit_after("convolution ran " + description());
      ran_once_ = true;
    }
    if (!c_.bias && !c_.relu) return;
    const auto pixels =
        static_cast<std::size_t>(slice.piece.batch * product(slice.piece.output_sizes));
    const auto filters = static_cast<std::size_t>(c_.groups * c_.filters);
    add_bias_and_relu(
        output, pixels, filters,
        {.bias = c_.bias ? bias : nullptr, .relu = c_.relu, .relu_bound = c_.relu_bound});
  }

  void finish(const float* first, const float* second, const float* bias, float* result,
              void* scratch) const override {
    const LibraryGuard guard;
    if (!guard) {
      const auto loops = make_loop_convolution(c_);
      return loops->run(0, first, second, nullptr, bias, result, nullptr);
    }
    if (c_.role != ConvRole::Filter) return;
    auto* sum = static_cast<float*>(scratch);
    for (std::size_t part = 1; part < parts_.size(); ++part) {
      const float* more = sum + part * filter_bytes_ / sizeof(float);
      for (std::size_t i = 0; i < filter_count_; ++i) sum[i] += more[i];
    }
    reorder(sum, result, behind_shared(scratch));
  }

 private:
  struct Part {
    ConvolutionPart slice;
    const Runner* runner = nullptr;
  };

  /// Makes rows of images the parts, if oneDNN chooses for each part the implementation that it
  /// chooses for whole images: the bits of an element then do not depend on the split.
  bool split_by_rows() {
    std::vector<ConvolutionPart> parts = parts_by_rows(c_);
    if (parts.empty()) return false;
    Convolution image = c_;
    image.batch = 1;
    prepare_filter(describe(image));
    for (const ConvolutionPart& part : parts) {
      if (implementation_of(describe(part.piece)) == implementation_) continue;
      filter_.reset();
      return false;
    }
    split_into(std::move(parts));
    return true;
  }

  void split_into(std::vector<ConvolutionPart> parts) {
    for (ConvolutionPart& part : parts) {
      std::unique_ptr<Runner>& runner = runners_[part.piece];
      if (!runner) runner = make_runner(part.piece);
      parts_.push_back({std::move(part), runner.get()});
    }
  }

  /// Describes a part, with the layout of the filter once it is chosen.
  Handle<dnnl_primitive_desc_t> describe(const Convolution& piece) const {
    return describe_convolution(static_cast<ConvolutionPass>(c_.role),
                                layouts(piece, filter_ ? &*filter_ : nullptr));
  }

  std::unique_ptr<Runner> make_runner(const Convolution& piece) {
    const auto desc = describe(piece);
    if (!filter_) prepare_filter(desc);
    ConvolutionLayouts all = layouts(piece, &*filter_);
    std::vector<RunnerArgument> arguments;
    const bool input = c_.role == ConvRole::Input, output = c_.role == ConvRole::Output;
    const bool computes_filter = c_.role == ConvRole::Filter;
    arguments.push_back({input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, std::move(all.input)});
    // Plain bytes where the filter is an operand: version 2 writes the padding of a packed filter
    // whenever a memory object is pointed at it, and other threads may be reading that filter.
    arguments.push_back(
        {computes_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
         computes_filter ? Layout::copy(filter_->view()) : Layout::bytes(filter_bytes_)});
    arguments.push_back({output ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, std::move(all.output)});
    return std::make_unique<Runner>(desc, std::move(arguments));
  }

  void prepare_filter(const Handle<dnnl_primitive_desc_t>& desc) {
    const bool computes_filter = c_.role == ConvRole::Filter;
    const LayoutView preferred =
        layout_of(desc, computes_filter ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    implementation_ = implementation_of(desc);
    filter_ = Layout::copy(preferred);
    filter_count_ = bytes_of(preferred) / sizeof(float);
    filter_bytes_ = aligned(bytes_of(preferred));
    const Ints strides = plain_strides(c_);
    filter_in_place_ = !computes_filter && has_strides(preferred, filter_dims(c_), strides);
    const Layout plain(filter_dims(c_), strides);
    const Layout& from = computes_filter ? *filter_ : plain;
    const Layout& to = computes_filter ? plain : *filter_;
    std::vector<RunnerArgument> arguments;
    arguments.push_back({DNNL_ARG_FROM, Layout::copy(from.view())});
    arguments.push_back({DNNL_ARG_TO, Layout::copy(to.view())});
    reorder_ =
        std::make_unique<Runner>(describe_reorder(from.view(), to.view()), std::move(arguments));
  }

  /// Whether the filter is an operand.
  bool packs() const { return c_.role != ConvRole::Filter; }

  void* behind_shared(void* scratch) const {
    return static_cast<std::byte*>(scratch) + shared_bytes_;
  }

  static void* aligned_within(std::vector<std::byte>& bytes) {
    void* begin = bytes.data();
    std::size_t space = bytes.size();
    return std::align(64, bytes.size() - 64, begin, space);
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
  bool filter_in_place_ = false;  // oneDNN reads the filter with the program's strides
  std::vector<Part> parts_;
  std::map<Convolution, std::unique_ptr<Runner>> runners_;  // by the convolution of a part
  std::optional<Layout> filter_;
  std::unique_ptr<Runner> reorder_;
  std::string implementation_;
  std::size_t filter_count_ = 0;  // floats of the filter in oneDNN's layout
  std::size_t filter_bytes_ = 0, shared_bytes_ = 0, part_scratch_ = 0, reorder_scratch_ = 0;
};

}  // namespace

std::shared_ptr<const PreparedConvolution> make_convolution(const Convolution& convolution,
                                                            bool packed) {
  const LibraryGuard guard;
  if (!guard) return make_loop_convolution(convolution);
  const JitMemoryCheck memory;
  memory.require();
  try {
    const auto create = [&](const Convolution& c) {
      auto created = std::make_shared<OneDnnConvolution>(c, packed);
      guard_exit_after("convolution created " + created->description());
      return created;
    };
    if (const auto forward = as_forward_convolution(convolution)) {
      auto created = create(*forward);
      if (created->is_batch_reduced()) {
        return make_flipped_filter_convolution(convolution, packed, std::move(created),
                                               /*uses_onednn=*/true);
      }
    }
    return create(convolution);
  } catch (const LibraryFailure&) {
    return make_loop_convolution(convolution);
  }
}

}  // namespace kiln::cpu
