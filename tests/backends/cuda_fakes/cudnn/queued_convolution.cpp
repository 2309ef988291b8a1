// One loop over all products serves the three roles. Ranges are checked before anything is read.
#include "tests/backends/cuda_fakes/cudnn/queued_convolution.h"

#include "core/types/at.h"

#include <cstdio>

namespace kiln::fake_cudnn {
namespace {

using fake_cuda::Range;

constexpr int kPoison = 0xFF;
constexpr int kIllegalAddress = 700;

std::int64_t elements_of(const Tensor& tensor) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    last += (tensor.dims[i] - 1) * tensor.strides[i];
  }
  return last + 1;
}

std::uint64_t width_of(CudnnDataType type) {
  switch (type) {
    case CudnnDataType::Float64: return 8;
    case CudnnDataType::Float16:
    case CudnnDataType::BFloat16: return 2;
    default: break;
  }
  return 4;
}

Range range_of(const Tensor& tensor, std::uint64_t address) {
  return {address, static_cast<std::uint64_t>(elements_of(tensor)) * width_of(tensor.type)};
}

/// Counts through all indices below `sizes`.
template <class Action>
void for_each_index(const std::vector<std::int64_t>& sizes, const Action& action) {
  std::vector<std::int64_t> index(sizes.size(), 0);
  while (true) {
    action(index);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

template <class Element>
class Run {
 public:
  explicit Run(const QueuedConvolution& queued)
      : queued_(queued),
        problem_(queued.problem),
        axes_(problem_.strides.size()),
        x_(elements(queued.input, problem_.input)),
        w_(elements(queued.filter, problem_.filter)),
        y_(elements(queued.output, problem_.output)) {}

  void run() {
    const bool is_forward = problem_.role == DescriptorType::Forward;
    const bool is_data = problem_.role == DescriptorType::BackwardData;
    const Tensor& result = is_forward ? problem_.output
                           : is_data  ? problem_.input
                                      : problem_.filter;
    sums_.assign(at(elements_of(result)), 0);
    std::vector<std::int64_t> sizes = problem_.output.dims;
    sizes.insert(sizes.end(), problem_.filter.dims.begin() + 2, problem_.filter.dims.end());
    for_each_index(sizes, [&](const std::vector<std::int64_t>& index) { add(index); });
    Element* to = is_forward ? y_ : is_data ? x_ : w_;
    for_each_index(result.dims, [&](const std::vector<std::int64_t>& index) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * result.strides[i];
      to[offset] = static_cast<Element>(sums_[at(offset)]);
    });
  }

 private:
  static Element* elements(std::uint64_t address, const Tensor& tensor) {
    return reinterpret_cast<Element*>(range_of(tensor, address).host());
  }

  double operand(Element value) const {
    if constexpr (std::is_same_v<Element, float>) {
      if (queued_.engine == kTensorCore) value = fake_cuda::to_tf32(value);
    }
    return static_cast<double>(value);
  }

  /// `index`: batch, filter, positions.., window...
  void add(const std::vector<std::int64_t>& index) {
    const Tensor &x = problem_.input, &w = problem_.filter, &y = problem_.output;
    const std::int64_t filter = index[1], channels = w.dims[1];
    const std::int64_t group = filter / (w.dims[0] / (x.dims[1] / channels));
    std::int64_t x_at = index[0] * x.strides[0] + group * channels * x.strides[1];
    std::int64_t w_at = filter * w.strides[0];
    std::int64_t y_at = index[0] * y.strides[0] + filter * y.strides[1];
    for (std::size_t i = 0; i < axes_; ++i) {
      const std::int64_t position = index[i + 2], window = index[axes_ + 2 + i];
      const std::int64_t from =
          position * problem_.strides[i] + window * problem_.dilations[i] - problem_.low[i];
      if (from < 0 || from >= x.dims[i + 2]) return;
      x_at += from * x.strides[i + 2];
      w_at += window * w.strides[i + 2];
      y_at += position * y.strides[i + 2];
    }
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      add_product(x_at + channel * x.strides[1], w_at + channel * w.strides[1], y_at);
    }
  }

  void add_product(std::int64_t x_at, std::int64_t w_at, std::int64_t y_at) {
    switch (problem_.role) {
      case DescriptorType::Forward:
        sums_[at(y_at)] += operand(x_[x_at]) * operand(w_[w_at]);
        return;
      case DescriptorType::BackwardData:
        sums_[at(x_at)] += operand(y_[y_at]) * operand(w_[w_at]);
        return;
      default: sums_[at(w_at)] += operand(y_[y_at]) * operand(x_[x_at]);
    }
  }

  const QueuedConvolution& queued_;
  const Problem& problem_;
  std::size_t axes_;
  Element *x_, *w_, *y_;
  std::vector<double> sums_;  // by offset
};

int reject(const char* reason) {
  std::fprintf(stderr, "fake cuDNN: %s\n", reason);
  return kIllegalAddress;
}

}  // namespace

int QueuedConvolution::run() const {
  Range tensors[] = {range_of(problem.input, input), range_of(problem.filter, filter),
                     range_of(problem.output, output)};
  const int result = problem.role == DescriptorType::Forward        ? 2
                     : problem.role == DescriptorType::BackwardData ? 0
                                                                    : 1;
  const Range scratch{workspace, static_cast<std::uint64_t>(workspace_bytes)};
  for (int i = 0; i < 3; ++i) {
    if (tensors[i].host() == nullptr) return reject("a tensor is not live");
    if (tensors[i].overlaps(scratch)) return reject("the workspace overlaps a tensor");
    if (i != result && tensors[i].overlaps(tensors[result])) return reject("the result overlaps");
  }
  if (workspace_bytes != 0) {
    if (scratch.host() == nullptr) return reject("the workspace is not live");
    std::memset(scratch.host(), kPoison, scratch.bytes);
  }
  switch (problem.input.type) {
    case CudnnDataType::Float64: Run<double>(*this).run(); break;
    default: Run<float>(*this).run(); break;
    case CudnnDataType::Float16: Run<fake_cuda::Float16>(*this).run(); break;
    case CudnnDataType::BFloat16: Run<fake_cuda::BFloat16>(*this).run(); break;
  }
  return 0;
}

}  // namespace kiln::fake_cudnn
