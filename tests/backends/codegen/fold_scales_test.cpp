// Tests which scales and shifts fold into convolutions; graph_pass_values_test.cpp and the random
// programs compare values.
#include "tests/support/catch.h"
#include "tests/core/ops/special_values.h"

#include "backends/codegen/graph/fold_scales.h"
#include "core/ops/build.h"

#include <functional>

using namespace kiln;
using namespace kiln::codegen;
using ir::Dims;
using ir::Op;
using ir::Value;

namespace {

class BiasLibrary final : public LibraryClaims {
 public:
  explicit BiasLibrary(bool adds_bias) : adds_bias_(adds_bias) {}
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return std::nullopt;
  }
  std::optional<std::string> rejection_of_epilogue(const ir::Node&, EpilogueOp op) const override {
    return adds_bias_ || op != EpilogueOp::Bias ? std::nullopt : std::optional<std::string>("none");
  }

 private:
  bool adds_bias_;
};

Value image_input(const Dims& dims) { return test::placeholder({DType::Float32, dims}); }

/// An image, and what counts as unchanged variables.
struct ScaledLayer {
  Value x = image_input({1, 4, 5, 3}), filter = image_input({3, 3, 3, 2});
  Value scale = image_input({2}), shift = image_input({2}), number = image_input({});

  Value conv(const Value& w) const {
    const ir::ConvAttrs attrs{ir::ConvRole::Output, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {4, 5}, 1};
    return ir::make(Op::Conv, attrs, {x, w});
  }
  Value conv() const { return conv(filter); }
  Value all(const Value& vector) const { return ir::broadcast(vector, {1, 4, 5, 2}, {3}); }
  Value scaled(const Value& by) const {
    return conv(filter * ir::broadcast(by, filter.dims(), {3}));
  }
  std::vector<Value> folded(const std::vector<Value>& results, bool adds_bias = true) const {
    const BiasLibrary library(adds_bias);
    return fold_scales(results, {x, filter, scale, shift, number}, {false, true, true, true, true},
                       &library);
  }
  Value folded(const Value& result) const { return folded(std::vector<Value>{result})[0]; }
};

}  // namespace

TEST_CASE("fold_scales: scales and shifts of filters become their factor and a bias") {
  const ScaledLayer l;
  const Value one = ir::broadcast(l.number, {2}, {});
  CHECK(l.folded(l.conv() * l.all(l.scale)) == l.scaled(l.scale));
  CHECK(l.folded(l.all(l.scale) * l.conv()) == l.scaled(l.scale));
  CHECK(l.folded(l.conv() / l.all(l.scale)) == l.scaled(1.0 / l.scale));
  CHECK(l.folded(l.conv() * ir::broadcast(l.number, {1, 4, 5, 2}, {})) == l.scaled(one));
  const Value wide = ir::broadcast_to(ir::reshape(l.scale, {1, 1, 1, 2}), {1, 4, 5, 2});
  CHECK(l.folded(l.conv() * wide) ==
        l.scaled(ir::reshape(ir::reshape(l.scale, {1, 1, 1, 2}), {2})));
  CHECK(l.folded((l.conv() + l.all(l.shift)) * l.all(l.scale)) ==
        l.scaled(l.scale) + l.all(l.shift * l.scale));
  CHECK(l.folded((l.conv() - l.all(l.shift)) * l.all(l.scale) + l.all(l.shift)) ==
        l.scaled(l.scale) + l.all(ir::neg(l.shift) * l.scale + l.shift));
  CHECK(l.folded(l.conv() - l.all(l.shift) + l.all(l.scale)) ==
        l.conv() + l.all(ir::neg(l.shift) + l.scale));
  const Value activated = ir::unary(Op::Tanh, l.conv() * l.all(l.scale));
  CHECK(l.folded(activated) == ir::unary(Op::Tanh, l.scaled(l.scale)));
  // A result of two users ends the chain.
  const Value half = l.conv() * l.all(l.scale);
  const Value now = l.scaled(l.scale);
  CHECK(l.folded(std::vector<Value>{half * l.all(l.scale), half}) ==
        std::vector<Value>{now * l.all(l.scale), now});
}

TEST_CASE("fold_scales: other graphs stay as they are") {
  const ScaledLayer l;
  const Value fed = image_input({2}), other = image_input({3, 3, 3, 2}),
              y = l.conv() * l.all(l.scale);
  const std::vector<std::vector<Value>> unchanged{
      {l.conv()},
      {l.conv() + l.all(l.shift)},
      {y, l.conv()},                                              // is read, too
      {l.conv() * l.all(fed)},                                    // not a variable
      {l.conv(other) * l.all(l.scale)},
      {l.conv() * ir::broadcast(l.scale, {1, 4, 5, 2}, {3}) * l.conv(), l.conv()},
      {l.conv() * ir::broadcast(image_input({5}), {1, 4, 5, 2}, {2})},  // one number per column
      {l.all(l.scale) / l.conv()},
      {ir::binary(Op::Maximum, l.conv(), l.all(l.scale))},
  };
  for (const std::vector<Value>& results : unchanged) {
    INFO("case " << &results - unchanged.data());
    CHECK(l.folded(results) == results);
  }
  CHECK(l.folded({y}, /*adds_bias=*/false) == std::vector<Value>{y});
  CHECK(fold_scales({y}, {l.x, l.filter, l.scale}, {false, true, true}, nullptr) ==
        std::vector<Value>{y});
  const BiasLibrary library(true);
  CHECK(fold_scales({y}, {l.x, l.filter, l.scale}, {}, &library) == std::vector<Value>{y});
  CHECK(fold_scales({y}, {l.x, l.filter, l.scale}, {false, false, true}, &library) ==
        std::vector<Value>{y});
}
