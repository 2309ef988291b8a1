// Tests which convolutions get symmetric padding, by the text of the graph.
#include "tests/support/catch.h"
#include "tests/core/ops/conv_loops.h"

#include "backends/codegen/graph/make_padding_symmetric.h"
#include "core/types/text.h"

using namespace kiln;
using namespace kiln::codegen;
using test::ConvRole;
using test::Geometry;

namespace {

class Library final : public LibraryClaims {
 public:
  explicit Library(bool takes, bool requires_symmetry = true)
      : takes_(takes), requires_symmetry_(requires_symmetry) {}
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return takes_ ? std::nullopt : std::optional<std::string>("none");
  }
  bool requires_symmetric_padding() const override { return requires_symmetry_; }

 private:
  bool takes_, requires_symmetry_;
};

ir::Value convolution(const Geometry& g, ConvRole role) {
  const test::ConvTensors tensors = test::draw(g, DType::Float32);
  std::vector<ir::Value> operands;
  for (const Array& feed : test::operands_of(tensors, role)) {
    operands.push_back(test::placeholder(test::type_of(feed)));
  }
  return ir::make(ir::Op::Conv, test::attrs_of(g, role), operands);
}

ir::Value rewritten(const ir::Value& value, const LibraryClaims* library) {
  return make_padding_symmetric({value}, library)[0];
}

/// "pad [low, high], conv [low, high], slice [start, limit]" of the spatial axis, without missing
/// nodes.
std::string text_of(const ir::Value& value) {
  const ir::Node& node = *value.node;
  if (node.op == ir::Op::Slice) {
    const auto& attrs = node.as<ir::SliceAttrs>();
    return text_of(node.operands[0]) + text(", slice [", attrs.start[1], ", ", attrs.limit[1], "]");
  }
  const auto& attrs = node.as<ir::ConvAttrs>();
  const std::string conv = text("conv [", attrs.low[0], ", ", attrs.high[0], "]");
  const ir::Node& input = *node.operands[0].node;
  if (input.op != ir::Op::Pad) return conv;
  const auto& pad = input.as<ir::PadAttrs>();
  return text("pad [", pad.low[1], ", ", pad.high[1], "], ", conv);
}

}  // namespace

TEST_CASE("symmetric padding: both ends keep the smaller one") {
  const Library library(true);
  struct Row {
    std::int64_t low, high;
    ConvRole role;
    const char* text;
  };
  for (const auto& [low, high, role, text] :
       {Row{0, 1, ConvRole::Output, "pad [0, 1], conv [0, 0]"},
        Row{2, 1, ConvRole::Output, "pad [1, 0], conv [1, 1]"},
        Row{2, 0, ConvRole::Filter, "pad [2, 0], conv [0, 0]"},
        Row{1, 2, ConvRole::Input, "conv [1, 1], slice [0, 8]"},
        Row{2, 1, ConvRole::Input, "conv [1, 1], slice [1, 9]"},
        Row{1, 1, ConvRole::Input, "conv [1, 1]"}}) {
    const Geometry g{2, 1, 3, 4, {8}, {3}, {2}, {1}, {low}, {high}};
    const ir::Value value = convolution(g, role), result = rewritten(value, &library);
    CHECK(text_of(result) == text);
    CHECK(result.type() == value.type());
  }
}

TEST_CASE("symmetric padding: no padding where the output omits a window that fits") {
  const Geometry g{2, 1, 3, 4, {8}, {3}, {1}, {1}, {1}, {1}};
  ir::ConvAttrs attrs = test::attrs_of(g, ConvRole::Output);
  attrs.sizes = {5};
  const ir::Value whole = convolution(g, ConvRole::Output);
  const ir::Value part = ir::make(ir::Op::Conv, attrs, whole.node->operands);
  const Library library(true);
  CHECK(text_of(rewritten(part, &library)) == "pad [1, 1], conv [0, 0]");
  CHECK(rewritten(whole, &library) == whole);
}

TEST_CASE("symmetric padding: not for kernels, and not for libraries that take any") {
  const Geometry g{2, 1, 3, 4, {8}, {3}, {2}, {1}, {0}, {1}};
  const ir::Value value = convolution(g, ConvRole::Output);
  const Library rejecting(false), general(true, false);
  for (const LibraryClaims* library :
       {static_cast<const LibraryClaims*>(nullptr), static_cast<const LibraryClaims*>(&rejecting),
        static_cast<const LibraryClaims*>(&general)}) {
    CHECK(rewritten(value, library) == value);
  }
}
