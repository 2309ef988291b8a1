// One class for elements that are multiplied as they are, one for those that are converted.
#include "backends/cpu/native_products.h"

#include "backends/cpu/tiled/half_product.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::cpu {
namespace {

TiledShape tiled_shape_of(const codegen::MatrixProduct& p) {
  return {p.rows,      p.columns,    p.depth,      p.lhs_row, p.lhs_depth,
          p.rhs_depth, p.rhs_column, p.result_row, p.relu};
}

std::string description_of(RhsForm form, const std::string& why) {
  const std::string reason = why.empty() ? "" : text(" (", why, ")");
  switch (form) {
    case RhsForm::Packed: return "own loops, rhs packed before" + reason;
    case RhsForm::Blocks: return "own loops, packing blocks of rhs" + reason;
    case RhsForm::Lines: return "own loops along the depth" + reason;
    case RhsForm::Plain: break;
  }
  return "own loops" + reason;
}

template <class T>
class NativeProduct final : public codegen::PreparedProduct {
 public:
  NativeProduct(const codegen::MatrixProduct& p, RhsForm form, TileLevel level, std::string why)
      : form_(form), product_(tiled_shape_of(p), form, level), why_(std::move(why)) {}

  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  std::size_t packed_bytes() const override {
    return form_ == RhsForm::Packed ? product_.packed_bytes() : 0;
  }
  std::string description() const override { return description_of(form_, why_); }
  void pack(const void* rhs, void* packed) const override {
    product_.pack(static_cast<const T*>(rhs), static_cast<T*>(packed));
  }
  void run(const void* lhs, const void* rhs, const void* bias, void* result,
           void* scratch) const override {
    product_.run(static_cast<const T*>(lhs), static_cast<const T*>(rhs),
                 static_cast<const T*>(bias), static_cast<T*>(result), static_cast<T*>(scratch));
  }

 private:
  RhsForm form_;
  TiledProduct<T> product_;
  std::string why_;
};

template <class Half>
class NativeHalfProduct final : public codegen::PreparedProduct {
 public:
  NativeHalfProduct(const codegen::MatrixProduct& p, RhsForm form, TileLevel level,
                    std::string why)
      : form_(form), product_(tiled_shape_of(p), form, level), why_(std::move(why)) {}

  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  std::size_t packed_bytes() const override {
    return form_ == RhsForm::Packed ? product_.packed_bytes() : 0;
  }
  std::string description() const override {
    return description_of(form_, why_) + ", sums in float32";
  }
  void pack(const void* rhs, void* packed) const override {
    product_.pack(static_cast<const Half*>(rhs), static_cast<HalfUnit*>(packed));
  }
  void run(const void* lhs, const void* rhs, const void*, void* result,
           void* scratch) const override {
    product_.run(static_cast<const Half*>(lhs), rhs, static_cast<Half*>(result),
                 static_cast<HalfUnit*>(scratch));
  }

 private:
  RhsForm form_;
  HalfProduct<Half> product_;
  std::string why_;
};

}  // namespace

bool has_native_gemm(DType dtype) { return dtype_bytes(dtype) >= 4 || is_float(dtype); }

std::shared_ptr<const codegen::PreparedProduct> make_native_product(
    const codegen::MatrixProduct& p, RhsForm form, TileLevel level, std::string why) {
  const auto made = [&]<class Made>(std::type_identity<Made>) {
    return std::make_shared<Made>(p, form, level, std::move(why));
  };
  switch (p.dtype) {
    case DType::Float64: return made(std::type_identity<NativeProduct<double>>());
    case DType::Float32: return made(std::type_identity<NativeProduct<float>>());
    case DType::Float16: return made(std::type_identity<NativeHalfProduct<Float16Bits>>());
    case DType::BFloat16: return made(std::type_identity<NativeHalfProduct<BFloat16Bits>>());
    case DType::Int32:
    case DType::UInt32: return made(std::type_identity<NativeProduct<unsigned>>());
    case DType::Int64:
    case DType::UInt64: return made(std::type_identity<NativeProduct<unsigned long>>());
    default: break;
  }
  throw InternalError("", "", text("no native GEMM of ", p.dtype));
}

}  // namespace kiln::cpu
