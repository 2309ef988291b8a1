// Tests library steps of targets whose libraries take other dtypes, batches and views than a CPU's.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"

#include "backends/codegen/plan/verify_plan.h"
#include "core/k/base/tensor_impl.h"

#include <kiln/k.h>

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;

namespace {

/// Takes floating matmuls with at most one batch axis, whose matrices have contiguous rows.
class StridedBatches : public LibraryClaims {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest& matmul) const override {
    if (!is_float(matmul.dtype)) return text("no matmuls of ", matmul.dtype);
    const BatchedMatmul& form = matmul.form;
    if (form.batch.size() > 1) return text("one batch axis, not ", form.batch.size());
    return std::nullopt;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return std::nullopt;
  }
};

class WithoutRelu final : public StridedBatches {
 public:
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   EpilogueOp op) const override {
    if (op == EpilogueOp::Relu) return "no relu";
    return StridedBatches::rejection_of_epilogue(node, op);
  }
};

class WithNarrowRhs final : public StridedBatches {
 public:
  std::optional<std::string> rejection_of_narrow_rhs(const ir::Node&, DType) const override {
    return std::nullopt;
  }
};

class DenseOnly final : public StridedBatches {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest& matmul) const override {
    const bool views = matmul.form.lhs_is_view || matmul.form.rhs_is_view;
    if (views) return "no views";
    return StridedBatches::rejection_of_matmul(matmul);
  }
};

Program planned(const std::vector<Tensor>& inputs, const Tensor& result,
                const LibraryClaims& library) {
  std::vector<ir::Value> arguments;
  for (const Tensor& input : inputs) arguments.push_back(value_of(input, "inputs"));
  return lowered(arguments, {value_of(result, "result")}, &library);
}

Tensor input(Shape shape, const char* dtype) {
  return placeholder({.shape = std::move(shape), .dtype = dtype});
}

std::size_t kernels_of(const Program& program) {
  const std::vector<Step>& steps = program.plan.steps;
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const Step& step) { return step.index() == 0; }));
}

/// The one matmul of the plan.
const MatmulStep& matmul_of(const Program& program) {
  const MatmulStep* found = nullptr;
  for (const Step& step : program.plan.steps) {
    const auto* matmul = std::get_if<MatmulStep>(&step);
    if (!matmul) continue;
    REQUIRE(found == nullptr);
    found = matmul;
  }
  REQUIRE(found != nullptr);
  return *found;
}

using kiln::testing::has;

struct Strides {
  std::int64_t lhs, rhs, result;
};

void check_strides(const MatmulAxis& axis, std::int64_t size, const Strides& want) {
  CHECK(axis.size.value() == size);
  CHECK(axis.lhs.value() == want.lhs);
  CHECK(axis.rhs.value() == want.rhs);
  CHECK(axis.result.value() == want.result);
}

}  // namespace

TEST_CASE("library step: a matmul has the dtype that its library takes") {
  const struct {
    const char* name;
    DType dtype;
  } rows[] = {{"float64", DType::Float64},
              {"float32", DType::Float32},
              {"bfloat16", DType::BFloat16},
              {"float16", DType::Float16}};
  const Tensor y = input({4, 8}, "float32"), z = input({4, 1}, "float32");
  for (const auto& row : rows) {
    const Tensor x = input({4, 8}, row.name), w = input({8, 5}, row.name);
    const Program program = planned({x, w}, dot(x, w), StridedBatches());
    const MatmulStep& matmul = matmul_of(program);
    CHECK(matmul.dtype == row.dtype);
    CHECK(kernels_of(program) == 0);
    CHECK(program.claims.at(0).decision.dtype == row.dtype);
    CHECK(has(print(program), text("# ", row.name, " M=4 N=5 K=8")));
  }
  CHECK(has(print(planned({y}, dot(transpose(y), y), StridedBatches())), "= %0^T x %0  #"));
  CHECK(has(print(planned({z}, dot(transpose(z), z), StridedBatches())), "= %0 x %0  #"));
  const Tensor x = input({4, 8}, "int32"), w = input({8, 5}, "int32");
  const Program program = planned({x, w}, dot(x, w), StridedBatches());
  CHECK(kernels_of(program) == 1);
  CHECK(has(print_claims(program), "no matmuls of int32"));
}

TEST_CASE("library step: a convolution has the dtype that its library takes") {
  const Tensor x = input({2, 8, 8, 3}, "float64"), w = input({3, 3, 3, 4}, "float64");
  const Program program = planned({x, w}, conv2d(x, w), StridedBatches());
  CHECK(has(print(program), "convolution %"));
  CHECK(has(print(program), "# float64; "));
}

TEST_CASE("library step: a batch of matmuls is one step with strides") {
  for (const char* dtype : {"float64", "float32", "bfloat16"}) {
    const Tensor x = input({6, 4, 8}, dtype), w = input({6, 8, 5}, dtype);
    const Program program = planned({x, w}, batch_dot(x, w), StridedBatches());
    const MatmulStep& matmul = matmul_of(program);
    REQUIRE(matmul.form.batch.size() == 1);
    check_strides(matmul.form.batch[0], 6, {32, 40, 20});
    check_strides(matmul.form.m, 4, {8, 0, 5});
    check_strides(matmul.form.k, 8, {1, 5, 0});
    check_strides(matmul.form.n, 5, {0, 1, 1});
    CHECK(program.claims.at(0).decision.batch_axes == 1);
    CHECK(kernels_of(program) == 0);
    CHECK(has(print(program),
              "for each of 6; lhs 0 + [32, 8, 1]; rhs 0 + [40, 5, 1]; "
              "result 0 + [20, 5, 1]"));
  }
}

TEST_CASE("library step: operands of a batch are views of larger tensors") {
  const Tensor x = input({4, 6, 9}, "float64"), w = input({6, 5, 8}, "float64");
  const Tensor permuted = permute_dimensions(slice(x, {0, 0, 1}, {-1, -1, -1}), {1, 0, 2});
  const Tensor y = batch_dot(permuted, permute_dimensions(w, {0, 2, 1}));
  const Program program = planned({x, w}, y, StridedBatches());
  const MatmulStep& matmul = matmul_of(program);
  CHECK(kernels_of(program) == 0);
  CHECK(matmul.form.lhs_is_view);
  CHECK(matmul.form.rhs_is_view);
  CHECK(matmul.form.lhs_offset.value() == 1);
  REQUIRE(matmul.form.batch.size() == 1);
  check_strides(matmul.form.batch[0], 6, {9, 40, 20});
  check_strides(matmul.form.m, 4, {54, 0, 5});
  check_strides(matmul.form.k, 8, {1, 1, 0});
  check_strides(matmul.form.n, 5, {0, 8, 1});
  const Program copied = planned({x, w}, y, DenseOnly());
  CHECK(kernels_of(copied) == 2);
  CHECK_FALSE(matmul_of(copied).form.lhs_is_view);
  CHECK(has(print_claims(copied), "after a copy: no views"));
}

TEST_CASE("library step: batches that the library rejects become a kernel, with the reason") {
  const Tensor x = input({2, 3, 4, 8}, "float32"), w = input({3, 2, 8, 5}, "float32");
  const ir::Value y =
      ir::dot(value_of(x, "x"), {0, 1, 2, 3}, value_of(w, "w"), {1, 0, 3, 4}, {0, 1, 2, 4});
  const StridedBatches library;
  const Program program = lowered({value_of(x, "x"), value_of(w, "w")}, {y}, &library);
  CHECK(kernels_of(program) == 1);
  CHECK(has(print_claims(program), "one batch axis, not 2"));
}

TEST_CASE("library step: an epilogue is fused where the library takes it") {
  const Tensor x = input({4, 8}, "float64"), w = input({8, 5}, "float64");
  const Tensor b = input({5}, "float64"), y = relu(bias_add(dot(x, w), b));
  const Program fused = planned({x, w, b}, y, StridedBatches());
  CHECK(kernels_of(fused) == 0);
  CHECK(matmul_of(fused).bias);
  CHECK(matmul_of(fused).relu);
  const Program left = planned({x, w, b}, y, WithoutRelu());
  CHECK(kernels_of(left) == 1);
  CHECK_FALSE(matmul_of(left).bias);
  CHECK(has(print_claims(left), "followed by a kernel for relu: no relu"));
}

TEST_CASE("library step: a weight of halves is widened where the library takes it") {
  const Tensor x = input({4, 8}, "float32"), input_of_halves = input({8, 5}, "bfloat16");
  const Tensor w = variable(Array::zeros({8, 5}), {.dtype = "bfloat16"});
  const auto product = [&](const Tensor& halves) { return dot(x, cast(halves, "float32")); };
  const Program read = planned({x, w}, product(w), WithNarrowRhs());
  CHECK(kernels_of(read) == 0);
  CHECK(matmul_of(read).narrow_rhs == DType::BFloat16);
  CHECK(has(print(read), " x float32(%1)"));
  CHECK(has(print_claims(read), "taken, with weights of bfloat16"));
  for (const Program& copied :
       {planned({x, w}, product(w), StridedBatches()),
        planned({x, input_of_halves}, product(input_of_halves), WithNarrowRhs())}) {
    CHECK(kernels_of(copied) == 1);
    CHECK_FALSE(matmul_of(copied).narrow_rhs);
  }
  const auto error_after = [&](const auto& change) {
    Program program = planned({x, w}, product(w), WithNarrowRhs());
    change(program.plan);
    return testing::error_text<InternalError>([&] { verify(program.plan, program.kernels); });
  };
  CHECK(has(error_after([](Plan& plan) {
              std::get<MatmulStep>(plan.steps.at(0)).narrow_rhs = DType::Float16;
            }),
            "step 0 widens %1 of bfloat16 as a weight of float16"));
  CHECK(has(error_after([](Plan& plan) { plan.slots[SlotId(1)].kind = ConstantSlot{}; }),
            "step 0 widens %1 of bfloat16 as a weight of bfloat16"));
}

TEST_CASE("plan rules: library steps compute in the dtype of their tensors, within them") {
  const Tensor x = input({6, 4, 8}, "float64"), w = input({6, 8, 5}, "float64");
  const auto error_after = [&](const auto& change) {
    Program program = planned({x, w}, batch_dot(x, w), StridedBatches());
    for (Step& step : program.plan.steps) {
      if (auto* matmul = std::get_if<MatmulStep>(&step)) change(*matmul);
    }
    return testing::error_text<InternalError>([&] { verify(program.plan, program.kernels); });
  };
  CHECK(has(error_after([](MatmulStep& step) { step.dtype = DType::Float32; }),
            "step 0 computes in float32 but %0 has float64"));
  CHECK(has(error_after([](MatmulStep& step) { step.form.lhs_offset = 1; }),
            "step 0 reaches element 192 of %0, which has 192"));
  CHECK(has(error_after([](MatmulStep& step) { step.form.lhs_offset = -1; }),
            "step 0 reaches element -1 of %0, which has 192"));
  CHECK(has(error_after([](MatmulStep& step) { step.form.batch[0].rhs = 41; }),
            "step 0 reaches element 244 of %1, which has 240"));
  CHECK(has(error_after([](MatmulStep& step) { step.form.batch[0].result = 0; }),
            "step 0 writes 6 matrices of its batch over each other"));
}
