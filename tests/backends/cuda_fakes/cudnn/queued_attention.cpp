// Interprets the operations over whole tensors in memory of their own.
#include "tests/backends/cuda_fakes/cudnn/queued_attention.h"

#include "core/types/at.h"
#include "tests/backends/cuda_fakes/library_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>

namespace kiln::fake_cudnn {
namespace {

using fake_cuda::BFloat16;
using fake_cuda::Float16;
using fake_cuda::Range;
using Index = std::array<std::int64_t, 4>;

constexpr int kPoison = 0xFF;
constexpr int kIllegalAddress = 700;

std::int64_t count_of(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims) count *= dim;
  return count;
}

std::int64_t width_of(CudnnDataType type) { return type == CudnnDataType::Float32 ? 4 : 2; }

/// All tensors in memory are dense.
Range range_of(const Tensor& tensor, std::uint64_t address) {
  return {address, static_cast<std::uint64_t>(count_of(tensor) * width_of(tensor.type))};
}

float rounded(float value, CudnnDataType type) {
  const auto wide = static_cast<double>(value);
  if (type == CudnnDataType::Float16) return static_cast<float>(double(Float16(wide)));
  if (type == CudnnDataType::BFloat16) return static_cast<float>(double(BFloat16(wide)));
  return value;
}

float load(const std::byte* from, CudnnDataType type) {
  if (type == CudnnDataType::Float32) return *reinterpret_cast<const float*>(from);
  if (type == CudnnDataType::Float16) {
    return static_cast<float>(double(*reinterpret_cast<const Float16*>(from)));
  }
  return static_cast<float>(double(*reinterpret_cast<const BFloat16*>(from)));
}

void store(float value, CudnnDataType type, std::byte* to) {
  const auto wide = static_cast<double>(value);
  if (type == CudnnDataType::Float32) {
    *reinterpret_cast<float*>(to) = value;
  } else if (type == CudnnDataType::Float16) {
    *reinterpret_cast<Float16*>(to) = Float16(wide);
  } else {
    *reinterpret_cast<BFloat16*>(to) = BFloat16(wide);
  }
}

/// Elements in the order of the axes, whatever the strides are.
struct Matrix {
  std::vector<std::int64_t> dims;
  std::vector<float> elements;

  float& operator[](const Index& index) { return elements[at(offset_of(index))]; }
  /// Axes of size 1 broadcast.
  float operator()(const Index& index) const { return elements[at(offset_of(index))]; }

 private:
  std::int64_t offset_of(const Index& index) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      offset = offset * dims[i] + (dims[i] == 1 ? 0 : index[i]);
    }
    return offset;
  }
};

template <class Action>
void for_each_index(const std::vector<std::int64_t>& dims, const Action& action) {
  Index i{};
  for (i[0] = 0; i[0] < dims[0]; ++i[0]) {
    for (i[1] = 0; i[1] < dims[1]; ++i[1]) {
      for (i[2] = 0; i[2] < dims[2]; ++i[2]) {
        for (i[3] = 0; i[3] < dims[3]; ++i[3]) action(i);
      }
    }
  }
}

class Run {
 public:
  explicit Run(const QueuedAttention& queued) : queued_(queued) {}

  void run() {
    for (const Operation& operation : queued_.operations) {
      Matrix result{operation.output.tensor.dims, {}};
      result.elements.resize(at(count_of(operation.output.tensor)));
      compute(operation, result);
      for (float& one : result.elements) one = rounded(one, operation.output.tensor.type);
      if (!operation.output.is_virtual) write(operation.output.tensor, result);
      matrices_[operation.output.tensor.id] = std::move(result);
    }
  }

 private:
  const Matrix& input(const GraphTensor& graph_tensor) {
    const Tensor& tensor = graph_tensor.tensor;
    const auto found = matrices_.find(tensor.id);
    if (found != matrices_.end() && found->second.dims == tensor.dims) return found->second;
    Matrix& read = matrices_[tensor.id];
    read = {tensor.dims, std::vector<float>(at(count_of(tensor)))};
    if (graph_tensor.is_value) {
      read.elements[0] = queued_.values.at(tensor.id);
      return read;
    }
    for_each_index(tensor.dims, [&](const Index& index) {
      read[index] = load(address(tensor, index), tensor.type);
    });
    return read;
  }

  void write(const Tensor& tensor, const Matrix& result) {
    for_each_index(tensor.dims, [&](const Index& index) {
      store(result(index), tensor.type, address(tensor, index));
    });
  }

  std::byte* address(const Tensor& tensor, const Index& index) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.strides[i];
    std::byte* first = range_of(tensor, queued_.addresses.at(tensor.id)).host();
    return first + offset * width_of(tensor.type);
  }

  void compute(const Operation& operation, Matrix& result) {
    switch (operation.kind) {
      case DescriptorType::Matmul: return multiply(operation, result);
      case DescriptorType::Reduction: return reduce(operation, result);
      case DescriptorType::Reshape: return reshape(operation, result);
      default: return apply(operation, result);
    }
  }

  void multiply(const Operation& operation, Matrix& result) {
    const Matrix a = input(operation.inputs[0]), b = input(operation.inputs[1]);
    const CudnnDataType type = operation.inputs[1].tensor.type;
    for_each_index(result.dims, [&](const Index& i) {
      double sum = 0;
      for (std::int64_t k = 0; k < b.dims[2]; ++k) {
        sum += static_cast<double>(rounded(a({i[0], i[1], i[2], k}), type)) *
               static_cast<double>(b({i[0], i[1], k, i[3]}));
      }
      result[i] = static_cast<float>(sum);
    });
  }

  void reduce(const Operation& operation, Matrix& result) {
    const Matrix x = input(operation.inputs[0]);
    for_each_index(result.dims, [&](const Index& i) {
      double sum = 0;
      float most = -std::numeric_limits<float>::infinity();
      for (std::int64_t k = 0; k < x.dims[3]; ++k) {
        const float one = x({i[0], i[1], i[2], k});
        sum += static_cast<double>(one);
        if (!(one <= most)) most = one;  // NaN stays
      }
      result[i] = operation.reduction == Reduction::Sum ? static_cast<float>(sum) : most;
    });
  }

  /// Here always the transposition of matrices.
  void reshape(const Operation& operation, Matrix& result) {
    const Matrix x = input(operation.inputs[0]);
    for_each_index(result.dims, [&](const Index& i) { result[i] = x({i[0], i[1], i[3], i[2]}); });
  }

  void apply(const Operation& operation, Matrix& result) {
    std::vector<Matrix> x;
    for (const GraphTensor& one : operation.inputs) x.push_back(input(one));
    for_each_index(result.dims, [&](const Index& i) {
      const float a = x[0](i), b = x.size() > 1 ? x[1](i) : 0;
      switch (operation.mode) {
        case PointwiseMode::Add: result[i] = a + b; break;
        case PointwiseMode::Subtract: result[i] = a - b; break;
        case PointwiseMode::Multiply: result[i] = a * b; break;
        case PointwiseMode::Divide: result[i] = a / b; break;
        case PointwiseMode::Exp: result[i] = std::exp(a); break;
        case PointwiseMode::Log: result[i] = std::log(a); break;
        case PointwiseMode::GreaterEqual: result[i] = a >= b ? 1 : 0; break;
        case PointwiseMode::GenerateIndex:
          result[i] = static_cast<float>(i[at(operation.axis)]);
          break;
        case PointwiseMode::Select: result[i] = x[2](i) != 0 ? a : b; break;
      }
    });
  }

  const QueuedAttention& queued_;
  std::map<std::int64_t, Matrix> matrices_;
};

/// Adds the ranges of the tensors that have memory, each once.
void add_ranges(const QueuedAttention& queued, std::vector<Range>& read,
                std::vector<Range>& written) {
  std::set<std::int64_t> results;
  for (const Operation& one : queued.operations) {
    const Tensor& tensor = one.output.tensor;
    if (one.output.is_virtual || !results.insert(tensor.id).second) continue;
    written.push_back(range_of(tensor, queued.addresses.at(tensor.id)));
  }
  for (const Operation& one : queued.operations) {
    for (const GraphTensor& input : one.inputs) {
      const std::int64_t id = input.tensor.id;
      if (input.is_virtual || input.is_value || results.contains(id)) continue;
      read.push_back(range_of(input.tensor, queued.addresses.at(id)));
    }
  }
  if (queued.workspace_bytes != 0) {
    written.push_back({queued.workspace, static_cast<std::uint64_t>(queued.workspace_bytes)});
  }
}

int illegal(const char* reason) {
  std::fprintf(stderr, "fake cuDNN: %s\n", reason);
  return kIllegalAddress;
}

}  // namespace

int QueuedAttention::run() const {
  std::vector<Range> read, written;
  add_ranges(*this, read, written);
  for (const auto* ranges : {&read, &written}) {
    for (const Range& range : *ranges) {
      if (range.host() == nullptr) return illegal("a tensor is not in live memory");
    }
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto overlaps = [&](const Range& other) { return written[i].overlaps(other); };
    if (std::any_of(written.begin() + static_cast<std::ptrdiff_t>(i) + 1, written.end(),
                    overlaps) ||
        std::any_of(read.begin(), read.end(), overlaps)) {
      return illegal("a result overlaps another tensor");
    }
  }
  if (workspace_bytes != 0) {
    std::memset(written.back().host(), kPoison, static_cast<std::size_t>(workspace_bytes));
  }
  Run(*this).run();
  return 0;
}

}  // namespace kiln::fake_cudnn
