// Tests with the machine's own cuBLASLt, where there is one: every claimed matmul can be described.
#include "backends/cuda/libraries/cublaslt.h"
#include "backends/cuda/libraries/matmul_claims.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda/matmul_forms.h"

#include "core/ops/build.h"
#include "core/ops/op.h"

using namespace kiln;
using namespace kiln::cuda;
using namespace cuda_test;

namespace {

using Sizes = std::map<char, std::int64_t>;

constexpr DType kFloats[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16};
const Sizes kSizes{{'i', 4}, {'j', 5}, {'k', 7}, {'a', 3}, {'b', 2}};

ir::Value operand_of(const std::string& letters, const Sizes& sizes, DType dtype) {
  const std::vector<std::int64_t> dims = dims_of(letters, sizes);
  const ir::Type type{dtype, ir::Dims(dims.begin(), dims.end())};
  return ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{0, "x", type}, {});
}

ir::Value dot_of(const MatmulForm& form, const Sizes& sizes, DType dtype) {
  return ir::dot(operand_of(form.lhs, sizes, dtype), labels_of(form.lhs),
                 operand_of(form.rhs, sizes, dtype), labels_of(form.rhs), labels_of(form.result));
}

std::optional<codegen::BatchedMatmul> form_of(const ir::Value& dot) {
  const bool views[2] = {false, false};
  return codegen::batched_matmul(*dot.node, {}, {}, views);
}

/// No reason where the matmul is claimed.
std::optional<std::string> rejection_of(const MatmulForm& form, const Sizes& sizes, DType dtype) {
  const ir::Value dot = dot_of(form, sizes, dtype);
  const std::optional<codegen::BatchedMatmul> product = form_of(dot);
  if (!product) return "no matmul";
  return MatmulClaims().rejection_of_matmul({*dot.node, dtype, *product});
}

MatmulDescription description_of(const MatmulForm& form, const Sizes& sizes, DType dtype, bool tf32,
                                 bool bias) {
  const ir::Value dot = dot_of(form, sizes, dtype);
  codegen::MatmulStep step;
  step.node = dot.node.get();
  step.dtype = dtype;
  if (bias) step.bias = codegen::SlotId(0);
  step.form = *form_of(dot);
  return describe(step, tf32, [](const ir::Dim& dim) { return dim.value(); });
}

/// Null, with a warning that says why, where no cuBLASLt can be opened.
std::shared_ptr<const api::CublasLt> machines_cublaslt() {
  api::Messages messages;
  try {
    return api::open_cublaslt({}, messages);
  } catch (const sdk::Failure& failure) {
    CHECK(failure.code() == KILN_CODE_NOT_FOUND);
    WARN("left out: " << failure.what());
    return nullptr;
  }
}

}  // namespace

TEST_CASE("descriptors: the claimed forms are those of the table") {
  for (const DType dtype : kFloats) {
    for (const MatmulForm& form : kMatmulForms) {
      INFO(form.lhs << ", " << form.rhs << " -> " << form.result);
      CHECK(!rejection_of(form, kSizes, dtype) == form.is_taken);
    }
  }
}

TEST_CASE("descriptors: rejections of dtypes, batches and sizes") {
  const MatmulForm plain{"ik", "kj", "ij", true};
  CHECK(rejection_of(plain, kSizes, DType::Int32) ==
        "cuBLASLt is used for floats alone, not for int32");
  CHECK(rejection_of({"abik", "bakj", "abij", false}, kSizes, DType::Float32) ==
        "cuBLASLt takes one batch axis, and 2 do not merge into one");
  CHECK(rejection_of({"ai", "aj", "aij", false}, kSizes, DType::Float32) ==
        "K is 1: an elementwise product, which can be fused");
  CHECK(rejection_of({"ak", "ak", "a", false}, kSizes, DType::Float32) ==
        "M and N are 1: a reduction, which can be fused");
  Sizes large = kSizes;
  large['i'] = std::int64_t{1} << 31;
  CHECK(rejection_of(plain, large, DType::Float32) ==
        "cuBLASLt takes fewer than 2^31 rows and columns");
}

TEST_CASE("descriptors: column-major matrices of the transposes") {
  const auto plain = description_of({"ik", "kj", "ij", true}, kSizes, DType::Float32, false, false);
  CHECK(plain.a == MatrixLayout{5, 7, 5, 0});
  CHECK(plain.b == MatrixLayout{7, 4, 7, 0});
  CHECK(plain.d == MatrixLayout{5, 4, 5, 0});
  CHECK_FALSE(plain.transposes_a);
  CHECK_FALSE(plain.transposes_b);
  const auto turned =
      description_of({"iak", "ajk", "iaj", true}, kSizes, DType::Float32, true, true);
  CHECK(turned.a == MatrixLayout{7, 5, 7, 35});
  CHECK(turned.transposes_a);
  CHECK(turned.b == MatrixLayout{7, 4, 21, 7});
  CHECK(turned.d == MatrixLayout{5, 4, 15, 5});
  CHECK(turned.batches == 3);
  CHECK(turned.tf32);
  CHECK(turned.bias);
  CHECK_FALSE(description_of({"ik", "kj", "ij", true}, kSizes, DType::Float64, true, false).tf32);
}

TEST_CASE("descriptors: the machine's cuBLASLt makes those of every claimed form") {
  const std::shared_ptr<const api::CublasLt> library = machines_cublaslt();
  if (library == nullptr) return;
  int described = 0;
  for (const DType dtype : kFloats) {
    for (const MatmulForm& form : kMatmulForms) {
      if (!form.is_taken) continue;
      for (const int variant : {0, 1, 2, 3}) {
        const MatmulDescription matmul =
            description_of(form, kSizes, dtype, variant % 2 != 0, variant / 2 != 0);
        const MatmulDescriptors descriptors(*library, matmul);
        if (matmul.bias) descriptors.set_bias(256);
        ++described;
      }
    }
  }
  WARN(described << " matmuls were described by cuBLASLt " << library->version_text());
  CHECK(described > 300);
}
