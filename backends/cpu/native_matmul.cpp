// Adapts NativeGemm, HalfGemm and WideningGemm to prepared matmuls.
#include "backends/cpu/native_matmul.h"

#include "backends/cpu/gemm/half_gemm.h"
#include "backends/cpu/gemm/widening_gemm.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::cpu {
namespace {

GemmShape gemm_shape_of(const codegen::MatmulShape& p) {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .lhs_m = p.lhs_m,
          .lhs_k = p.lhs_k,
          .rhs_k = p.rhs_k,
          .rhs_n = p.rhs_n,
          .result_m = p.result_m,
          .relu = p.relu};
}

std::string description_of(RhsForm form, const std::string& reason) {
  const std::string suffix = reason.empty() ? "" : text(" (", reason, ")");
  switch (form) {
    case RhsForm::Prepacked: return "native GEMM, rhs prepacked" + suffix;
    case RhsForm::PackBlocks: return "native GEMM, packing blocks of rhs" + suffix;
    case RhsForm::DotProducts: return "native GEMM, dot products along K" + suffix;
    case RhsForm::InPlace: break;
  }
  return "native GEMM, rhs in place" + suffix;
}

/// A matmul of elements that are multiplied without conversion.
template <class T>
class NativeMatmul final : public codegen::PreparedMatmul {
 public:
  NativeMatmul(const codegen::MatmulShape& p, RhsForm form, GemmIsa isa, std::string reason)
      : form_(form), gemm_(gemm_shape_of(p), form, isa), reason_(std::move(reason)) {}

  std::size_t scratch_bytes() const override { return gemm_.scratch_bytes(); }
  std::size_t packed_bytes() const override {
    return form_ == RhsForm::Prepacked ? gemm_.packed_bytes() : 0;
  }
  std::int64_t packed_offset(std::int64_t columns) const override {
    return form_ == RhsForm::Prepacked ? gemm_.packed_offset(columns) : -1;
  }
  std::string description() const override { return description_of(form_, reason_); }
  void pack(const void* rhs, void* packed) const override {
    gemm_.pack(static_cast<const T*>(rhs), static_cast<T*>(packed));
  }
  std::int64_t packing_parts() const override { return gemm_.packing_parts(); }
  void pack_part(std::int64_t part, const void* rhs, void* packed) const override {
    gemm_.pack_part(part, static_cast<const T*>(rhs), static_cast<T*>(packed));
  }
  void run(const void* lhs, const void* rhs, const void* bias, void* result,
           void* scratch) const override {
    gemm_.run(static_cast<const T*>(lhs), static_cast<const T*>(rhs), static_cast<const T*>(bias),
              static_cast<T*>(result), static_cast<T*>(scratch));
  }

 private:
  RhsForm form_;
  NativeGemm<T> gemm_;
  std::string reason_;
};

/// A matmul of half-precision elements, which HalfGemm converts to float32.
template <class Half>
class NativeHalfMatmul final : public codegen::PreparedMatmul {
 public:
  NativeHalfMatmul(const codegen::MatmulShape& p, RhsForm form, GemmIsa isa, std::string reason)
      : form_(form), gemm_(gemm_shape_of(p), form, isa), reason_(std::move(reason)) {}

  std::size_t scratch_bytes() const override { return gemm_.scratch_bytes(); }
  std::size_t packed_bytes() const override {
    return form_ == RhsForm::Prepacked ? gemm_.packed_bytes() : 0;
  }
  std::int64_t packed_offset(std::int64_t columns) const override {
    return form_ == RhsForm::Prepacked ? gemm_.packed_offset(columns) : -1;
  }
  std::string description() const override {
    return description_of(form_, reason_) + ", sums in float32" + (gemm_.uses_amx() ? ", AMX" : "");
  }
  void pack(const void* rhs, void* packed) const override {
    gemm_.pack(static_cast<const Half*>(rhs), packed);
  }
  std::int64_t packing_parts() const override { return gemm_.packing_parts(); }
  void pack_part(std::int64_t part, const void* rhs, void* packed) const override {
    gemm_.pack_part(part, static_cast<const Half*>(rhs), packed);
  }
  void run(const void* lhs, const void* rhs, const void*, void* result,
           void* scratch) const override {
    gemm_.run(static_cast<const Half*>(lhs), rhs, static_cast<Half*>(result),
              static_cast<PackedWord*>(scratch));
  }

 private:
  RhsForm form_;
  HalfGemm<Half> gemm_;
  std::string reason_;
};

/// A matmul of float32 rows by 16-bit weights.
template <class Half>
class WideningMatmul final : public codegen::PreparedMatmul {
 public:
  WideningMatmul(const codegen::MatmulShape& p, GemmIsa isa)
      : narrow_(*p.narrow_rhs), gemm_(gemm_shape_of(p), isa) {}

  std::size_t scratch_bytes() const override { return gemm_.scratch_bytes(); }
  std::size_t packed_bytes() const override { return gemm_.packed_bytes(); }
  std::int64_t packed_offset(std::int64_t columns) const override {
    return gemm_.packed_offset(columns);
  }
  std::string description() const override {
    return text("native GEMM, rhs prepacked, ", narrow_,
                gemm_.widens_in_registers() ? " widened in registers" : " widened while packing");
  }
  void pack(const void* rhs, void* packed) const override {
    gemm_.pack(static_cast<const Half*>(rhs), packed);
  }
  std::int64_t packing_parts() const override { return gemm_.packing_parts(); }
  void pack_part(std::int64_t part, const void* rhs, void* packed) const override {
    gemm_.pack_part(part, static_cast<const Half*>(rhs), packed);
  }
  void run(const void* lhs, const void* rhs, const void* bias, void* result,
           void* scratch) const override {
    gemm_.run(static_cast<const float*>(lhs), rhs, static_cast<const float*>(bias),
              static_cast<float*>(result), static_cast<float*>(scratch));
  }

 private:
  DType narrow_;
  WideningGemm<Half> gemm_;
};

/// A column as the row of another matmul, whose bias is one number.
template <class T>
class TransposedMatmul final : public codegen::PreparedMatmul {
 public:
  TransposedMatmul(const codegen::MatmulShape& p, GemmIsa isa)
      : rows_(p.m), bias_(p.bias), relu_(p.relu), gemm_(row_of(p), RhsForm::InPlace, isa) {}

  std::size_t scratch_bytes() const override { return gemm_.scratch_bytes(); }
  std::string description() const override { return "native GEMM, transposed, lhs in place"; }
  void run(const void* lhs, const void* rhs, const void* bias, void* to,
           void* scratch) const override {
    T* result = static_cast<T*>(to);
    gemm_.run(static_cast<const T*>(rhs), static_cast<const T*>(lhs), nullptr, result,
              static_cast<T*>(scratch));
    if (!bias_) return;
    const T added = *static_cast<const T*>(bias);
    for (std::int64_t i = 0; i < rows_; ++i) {
      const T sum = result[i] + added;
      result[i] = relu_ && sum <= 0 ? T(0) : sum;
    }
  }

 private:
  static GemmShape row_of(const codegen::MatmulShape& p) {
    return {.m = 1,
            .n = p.m,
            .k = p.k,
            .lhs_m = 1,
            .lhs_k = p.rhs_k,
            .rhs_k = p.lhs_k,
            .rhs_n = 1,
            .result_m = p.m,
            .relu = p.relu && !p.bias};
  }

  std::int64_t rows_;
  bool bias_, relu_;
  NativeGemm<T> gemm_;
};

}  // namespace

bool has_native_gemm(DType dtype) { return dtype_bytes(dtype) >= 4 || is_float(dtype); }

std::shared_ptr<const codegen::PreparedMatmul> make_native_matmul(const codegen::MatmulShape& p,
                                                                  RhsForm form, GemmIsa isa,
                                                                  std::string reason) {
  const auto make = [&]<class Matmul>(std::type_identity<Matmul>) {
    return std::make_shared<Matmul>(p, form, isa, std::move(reason));
  };
  switch (p.dtype) {
    case DType::Float64: return make(std::type_identity<NativeMatmul<double>>());
    case DType::Float32: return make(std::type_identity<NativeMatmul<float>>());
    case DType::Float16: return make(std::type_identity<NativeHalfMatmul<Float16Bits>>());
    case DType::BFloat16: return make(std::type_identity<NativeHalfMatmul<BFloat16Bits>>());
    case DType::Int32:
    case DType::UInt32: return make(std::type_identity<NativeMatmul<unsigned>>());
    case DType::Int64:
    case DType::UInt64: return make(std::type_identity<NativeMatmul<unsigned long>>());
    default: break;
  }
  throw InternalError("", "", text("no native GEMM of ", p.dtype));
}

std::shared_ptr<const codegen::PreparedMatmul> make_widening_matmul(const codegen::MatmulShape& p,
                                                                    GemmIsa isa) {
  if (*p.narrow_rhs == DType::Float16) return std::make_shared<WideningMatmul<Float16Bits>>(p, isa);
  return std::make_shared<WideningMatmul<BFloat16Bits>>(p, isa);
}

std::shared_ptr<const codegen::PreparedMatmul> make_transposed_matmul(const codegen::MatmulShape& p,
                                                                      GemmIsa isa) {
  if (p.dtype == DType::Float64) return std::make_shared<TransposedMatmul<double>>(p, isa);
  if (p.dtype == DType::Float32) return std::make_shared<TransposedMatmul<float>>(p, isa);
  if (dtype_bytes(p.dtype) == 4) return std::make_shared<TransposedMatmul<unsigned>>(p, isa);
  return std::make_shared<TransposedMatmul<unsigned long>>(p, isa);
}

}  // namespace kiln::cpu
