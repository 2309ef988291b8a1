// Which memory descriptors a product has, and its runs. Where the library has only its slow
// reference form for a batch, or none, the matrices are multiplied one after the other.
#include "backends/cpu/onednn/matmul.h"

#include <new>

namespace kiln::cpu {
namespace {

Layout layout(const LibraryProduct& p, std::int64_t rows, std::int64_t columns,
              const LibraryOperand& operand) {
  std::vector<std::int64_t> dims{rows, columns}, strides{operand.leading, 1};
  if (operand.transposed) strides = {1, operand.leading};
  if (p.batch > 1) {
    // A shared operand is a batch of one that the library repeats.
    const bool shared = operand.batch_stride == 0;
    dims.insert(dims.begin(), shared ? 1 : p.batch);
    strides.insert(strides.begin(), shared ? rows * columns : operand.batch_stride);
  }
  return Layout(dims, strides);
}

Layout any_layout(const LibraryProduct& p) {
  if (p.batch == 1) return Layout({p.k, p.n});
  return Layout({p.rhs.batch_stride == 0 ? 1 : p.batch, p.k, p.n});
}

MatmulLayouts layouts(const LibraryProduct& p, bool bias, bool packed) {
  MatmulLayouts all{layout(p, p.m, p.k, p.lhs),
                    packed ? any_layout(p) : layout(p, p.k, p.n, p.rhs),
                    layout(p, p.m, p.n, p.result), nullptr};
  if (!bias) return all;
  const LibraryOperand row{false, p.n, 0};
  all.bias = std::make_unique<Layout>(layout(p, 1, p.n, row));
  return all;
}

bool is_slow(const std::string& implementation) { return implementation.rfind("ref", 0) == 0; }

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

void* writable(const void* buffer) { return const_cast<void*>(buffer); }

}  // namespace

Matmul::Matmul(const LibraryProduct& product, const ProductShape& shape)
    : product_(product),
      bias_(shape.bias_per_column),
      accumulate_(shape.accumulate),
      packed_(shape.packed_rhs) {
  // A batch of results from two shared operands is none that the library knows.
  const bool unknown = product_.lhs.batch_stride == 0 && product_.rhs.batch_stride == 0;
  if (product_.batch == 1 || !unknown) describe();
  if (product_.batch == 1 || (!unknown && !is_slow(implementation_))) return;
  repeats_ = product_.batch;
  product_.batch = 1;
  describe();
}

void Matmul::describe() {
  MatmulLayouts all = layouts(product_, bias_, packed_);
  const auto desc = describe_matmul(all, accumulate_);
  implementation_ = implementation_of(desc);
  if (is_slow(implementation_) && product_.batch > 1) return;
  const LayoutView rhs = layout_of(desc, dnnl_query_weights_md);
  std::vector<RunnerArgument> arguments;
  if (packed_) {
    packed_stride_ = aligned(bytes_of(rhs));
    std::vector<RunnerArgument> packing;
    const Layout plain = layout(product_, product_.k, product_.n, product_.rhs);
    const auto reorder = describe_reorder(plain.view(), rhs);
    packing.push_back({DNNL_ARG_FROM, layout(product_, product_.k, product_.n, product_.rhs)});
    packing.push_back({DNNL_ARG_TO, Layout::copy(rhs)});
    pack_runner_ = std::make_unique<Runner>(reorder, std::move(packing));
  }
  arguments.push_back({DNNL_ARG_SRC, std::move(all.lhs)});
  // As bytes: version 2 writes the padding of a packed matrix whenever a memory object is pointed
  // at it, which other threads may be reading.
  arguments.push_back({DNNL_ARG_WEIGHTS, packed_ ? Layout::bytes(bytes_of(rhs))
                                                 : std::move(all.rhs)});
  arguments.push_back({DNNL_ARG_DST, std::move(all.result)});
  if (bias_) arguments.push_back({DNNL_ARG_BIAS, std::move(*all.bias)});
  product_runner_ = std::make_unique<Runner>(desc, std::move(arguments));
}

std::size_t Matmul::packed_bytes() const noexcept {
  if (!packed_) return 0;
  return packed_stride_ * static_cast<std::size_t>(product_.rhs.batch_stride == 0 ? 1 : repeats_);
}

std::size_t Matmul::scratch_bytes() const noexcept { return product_runner_->scratch_bytes(); }

int Matmul::pack(const float* rhs, void* packed) const noexcept {
  if (!packed_) return dnnl_invalid_arguments;
  std::unique_ptr<std::byte[]> scratch;
  if (const std::size_t bytes = pack_runner_->scratch_bytes()) {
    scratch.reset(new (std::nothrow) std::byte[bytes]);
    if (!scratch) return dnnl_out_of_memory;
  }
  const std::int64_t runs = product_.rhs.batch_stride == 0 ? 1 : repeats_;
  for (std::int64_t i = 0; i < runs; ++i) {
    void* to = static_cast<std::byte*>(packed) + static_cast<std::size_t>(i) * packed_stride_;
    const Runner::Buffers buffers{writable(rhs + i * product_.rhs.batch_stride), to};
    if (const int status = pack_runner_->run(buffers, scratch.get())) return status;
  }
  return dnnl_success;
}

int Matmul::run_one(std::int64_t batch, const float* lhs, const void* rhs, const float* bias,
                    float* result, void* scratch) const noexcept {
  const std::int64_t rhs_batch = product_.rhs.batch_stride == 0 ? 0 : batch;
  const auto* rhs_bytes = static_cast<const std::byte*>(rhs);
  rhs_bytes += packed_ ? static_cast<std::size_t>(rhs_batch) * packed_stride_
                       : static_cast<std::size_t>(rhs_batch * product_.rhs.batch_stride) *
                             sizeof(float);
  const Runner::Buffers buffers{writable(lhs + batch * product_.lhs.batch_stride),
                                writable(rhs_bytes), result + batch * product_.result.batch_stride,
                                bias_ ? writable(bias) : nullptr};
  return product_runner_->run(buffers, scratch);
}

int Matmul::run(const float* lhs, const void* rhs, const float* bias, float* result,
                void* scratch) const noexcept {
  for (std::int64_t i = 0; i < repeats_; ++i) {
    if (const int status = run_one(i, lhs, rhs, bias, result, scratch)) return status;
  }
  return dnnl_success;
}

}  // namespace kiln::cpu
