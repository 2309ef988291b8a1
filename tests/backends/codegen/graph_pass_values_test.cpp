// Tests that each graph pass of codegen keeps values: graphs before and after one pass, in every
// dtype that their ops take, on special and random values. `evaluate` gives a graph to `reference`
// as it is and runs no pass, so that it shares no code with the passes.
#include "tests/support/catch.h"

#include "backends/codegen/claims/claim.h"
#include "backends/codegen/graph/widen_composites.h"
#include "backends/codegen/host/prepared/matmul.h"
#include "core/ops/build.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/special_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace kiln;
using namespace kiln::codegen;
using ir::ConvRole;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

namespace {

/// Takes all matmuls and convolutions, so that the passes leave them as they are.
class WholeLibrary : public HostLibrary {
 public:
  std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const override {
    return std::nullopt;
  }
  std::shared_ptr<const PreparedMatmul> prepare(const MatmulShape&, RhsUse) override {
    return nullptr;
  }
  std::optional<std::string> rejection_of_convolution(const ir::Node&) const override {
    return std::nullopt;
  }
};

/// Takes convolutions and attention of float32 alone.
class WideLibrary final : public WholeLibrary {
 public:
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override {
    return rejection_of_attention(node);
  }
  std::optional<std::string> rejection_of_attention(const ir::Node& node) const override {
    if (node.types[0].dtype == DType::Float32) return std::nullopt;
    return "not float32";
  }
};

std::vector<DType> dtypes_in(ir::DTypeSet set) {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if ((set & ir::dtype_bit(dtype)) != 0) all.push_back(dtype);
  }
  return all;
}

/// A graph of one or more outputs, with its inputs.
struct Sample {
  std::vector<Value> inputs, results;

  Value input(DType dtype, const Dims& dims) {
    inputs.push_back(test::placeholder({dtype, dims}));
    return inputs.back();
  }
};

/// The allowed difference of two orders of addition: a few units in the last place of sums of ones.
double reordering(DType dtype) {
  switch (dtype) {
    case DType::Float16: return 4e-3;
    case DType::BFloat16: return 3e-2;
    case DType::Float32: return 4e-6;
    case DType::Float64: return 1e-14;
    default: return 0;
  }
}

/// Checks that the pass changes the graph and keeps its values. On special values two orders of a
/// sum may overflow differently: these run only where the pass keeps bits, or for `specials`.
void check_pass(const std::string& name, const Sample& sample, bool specials,
                const HostLibrary& library = WholeLibrary()) {
  const auto passes = graph_passes();
  const auto pass = std::find_if(passes.begin(), passes.end(),
                                 [&](const CodegenPass& one) { return one.name == name; });
  REQUIRE(pass != passes.end());
  const std::vector<Value> after = codegen::after(*pass, sample.results, &library);
  REQUIRE(after != sample.results);
  for (std::size_t i = 0; i < after.size(); ++i) {
    REQUIRE(after[i].type() == sample.results[i].type());
  }
  std::mt19937_64 generator(7);
  for (const bool special : {false, true}) {
    if (special && !specials && !pass->keeps_bits) continue;
    INFO("special values: " << special);
    std::vector<Array> feeds;
    for (const Value& input : sample.inputs) {
      feeds.push_back(special ? test::repeated_specials(input.type(), generator)
                              : test::random_array(generator, input.type(), -1, 1));
    }
    const auto want = test::evaluate(sample.inputs, sample.results, feeds, "reference");
    const auto found = test::evaluate(sample.inputs, after, feeds, "reference");
    for (std::size_t i = 0; i < want.size(); ++i) {
      INFO("result " << i << " " << dtype_name(want[i].dtype()));
      const double tolerance = reordering(want[i].dtype());
      const bool by_bits = pass->keeps_bits || tolerance == 0;
      CHECK((by_bits ? test::bit_difference(found[i], want[i])
                     : test::difference(found[i], want[i], tolerance, tolerance)) == "");
    }
  }
}

Value convolution(const Value& x, const Value& filter) {
  const std::int64_t rows = x.dims()[1].value(), columns = x.dims()[2].value();
  const ir::ConvAttrs attrs{ConvRole::Output, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {rows, columns}, 1};
  return ir::make(Op::Conv, attrs, {x, filter});
}

/// A convolution, as the only output: the pass ignores graphs without one.
Sample beside_a_convolution() {
  Sample sample;
  const Value x = sample.input(DType::Float32, {1, 3, 3, 2});
  sample.results = {convolution(x, sample.input(DType::Float32, {3, 3, 2, 2}))};
  return sample;
}

Ints drawn_permutation(std::mt19937_64& generator, std::size_t rank) {
  Ints axes(rank);
  do {
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t i = rank; i-- > 0;) std::swap(axes[i], axes[generator() % (i + 1)]);
  } while (std::is_sorted(axes.begin(), axes.end()));
  return axes;
}

Dims permuted(const Dims& dims, const Ints& axes) {
  Dims result;
  for (const std::int64_t axis : axes) result.push_back(dims[static_cast<std::size_t>(axis)]);
  return result;
}

/// Nodes of the op on these values, which have one dtype and shape.
std::vector<Value> nodes_of(Op op, const std::vector<Value>& x, const Value& mask) {
  const ir::OpDef& d = ir::def(op);
  if (op == Op::Select) return {ir::select(mask, x[0], x[1])};
  if ((d.dtypes & ir::dtype_bit(x[0].dtype())) == 0) return {};
  if (op == Op::Cast) {
    return {ir::make(op, ir::CastAttrs{DType::Int32}, {x[0]}),
            ir::make(op, ir::CastAttrs{DType::Float32}, {x[0]})};
  }
  if (op == Op::Bitcast) {
    std::vector<Value> bits;
    for (const DType dtype : dtypes_in(ir::kNumbers)) {
      if (dtype_bytes(dtype) != dtype_bytes(x[0].dtype())) continue;
      bits.push_back(ir::make(op, ir::CastAttrs{dtype}, {x[0]}));
    }
    return bits;
  }
  return {ir::make(op, ir::NoAttrs{}, {x.begin(), x.begin() + d.arity})};
}

}  // namespace

TEST_CASE("sink_permutes keeps the values of every elementwise op and dtype") {
  std::mt19937_64 generator(1);
  const Dims dims{2, 3, 4, 5};
  for (const DType dtype : dtypes_in(ir::kAnyDType)) {
    INFO(dtype_name(dtype));
    Sample sample = beside_a_convolution();
    const Value x = sample.input(dtype, dims), y = sample.input(dtype, dims);
    for (const ir::OpDef& d : ir::all_ops()) {
      const Op op = d.op;
      if (ir::def(op).lowering != ir::Lowering::Elementwise) continue;
      const Ints axes = drawn_permutation(generator, dims.size());
      const Dims sunk = permuted(dims, axes);
      const Value px = ir::permute(x, axes), py = ir::permute(y, axes);
      // A broadcast and a mask are permuted in the other direction.
      const Value row = ir::broadcast(sample.input(dtype, {sunk[1], sunk[3]}), sunk, {1, 3});
      const Value mask = sample.input(DType::Bool, sunk);
      for (const std::vector<Value>& operands :
           {std::vector<Value>{px, py}, std::vector<Value>{px, row}, std::vector<Value>{row, py}}) {
        const auto nodes = nodes_of(op, operands, mask);
        sample.results.insert(sample.results.end(), nodes.begin(), nodes.end());
      }
    }
    for (const Op op : {Op::Identity, Op::StopGradient}) {
      const Value moved = ir::permute(x, drawn_permutation(generator, dims.size()));
      sample.results.push_back(ir::make(op, ir::NoAttrs{}, {moved}));
    }
    const Value twice = ir::permute(x, drawn_permutation(generator, dims.size()));
    sample.results.push_back(ir::permute(twice, drawn_permutation(generator, dims.size())));
    check_pass("sink_permutes", sample, /*specials=*/true);
  }
}

TEST_CASE("sink_permutes keeps the values of reductions over every set of axes") {
  std::mt19937_64 generator(2);
  const Dims dims{2, 3, 4, 5};
  for (const DType dtype : dtypes_in(ir::kAnyDType)) {
    Sample sample = beside_a_convolution();
    const Value x = sample.input(dtype, dims);
    for (const Op op : {Op::Sum, Op::Prod, Op::Max, Op::Min}) {
      if ((ir::def(op).dtypes & ir::dtype_bit(dtype)) == 0) continue;
      for (unsigned set = 1; set < 16; ++set) {
        Ints axes;
        for (std::int64_t axis = 0; axis < 4; ++axis) {
          if ((set >> axis & 1) != 0) axes.push_back(axis);
        }
        const Value moved = ir::permute(x, drawn_permutation(generator, dims.size()));
        sample.results.push_back(ir::reduce(op, moved, axes));
      }
    }
    INFO(dtype_name(dtype));
    check_pass("sink_permutes", sample, /*specials=*/false);
  }
}

TEST_CASE("raise_permutes keeps the values of every elementwise op and dtype") {
  std::mt19937_64 generator(3);
  const Dims dims{2, 3, 4, 5};
  for (const DType dtype : dtypes_in(ir::kAnyDType)) {
    INFO(dtype_name(dtype));
    Sample sample;
    const Value x = sample.input(dtype, dims), y = sample.input(dtype, dims);
    const Value row = ir::broadcast(sample.input(dtype, {3, 5}), dims, {1, 3});
    const Value moved = ir::permute(sample.input(dtype, {5, 3, 4, 2}), {3, 1, 2, 0});
    const Value mask = sample.input(DType::Bool, dims);
    for (const ir::OpDef& d : ir::all_ops()) {
      if (d.lowering != ir::Lowering::Elementwise) continue;
      for (const std::vector<Value>& operands :
           {std::vector<Value>{x, y}, std::vector<Value>{moved, row}, std::vector<Value>{row, y}}) {
        for (const Value& value : nodes_of(d.op, operands, mask)) {
          sample.results.push_back(ir::permute(value, drawn_permutation(generator, dims.size())));
        }
      }
    }
    check_pass("raise_permutes", sample, /*specials=*/true);
  }
}

TEST_CASE("sink_repetitions keeps the values of elementwise ops, moves, sums and repetitions") {
  for (const DType dtype : dtypes_in(ir::kAnyDType)) {
    INFO(dtype_name(dtype));
    Sample sample;
    const Value x = sample.input(dtype, {2, 3, 4}), row = sample.input(dtype, {4});
    const Value full = sample.input(dtype, {2, 6, 4}), mask = sample.input(DType::Bool, {2, 6, 4});
    const Value twice =
        ir::reshape(ir::broadcast(x, {2, 3, 2, 4}, {0, 1, 3}), {2, 6, 4});  // along axis 1
    const Value rows = ir::broadcast(row, {2, 6, 4}, {2});
    for (const ir::OpDef& d : ir::all_ops()) {
      if (d.lowering != ir::Lowering::Elementwise) continue;
      for (const std::vector<Value>& operands :
           {std::vector<Value>{twice, twice}, std::vector<Value>{twice, rows},
            std::vector<Value>{full, twice}}) {
        const auto nodes = nodes_of(d.op, operands, mask);
        for (const Value& value : nodes) {
          sample.results.push_back(ir::permute(value, {2, 0, 1}));
        }
      }
    }
    const Value again =
        ir::reshape(ir::broadcast(twice, {2, 6, 4, 3}, {0, 1, 2}), {2, 6, 12});  // along axis 2
    sample.results.push_back(again);
    for (const Op op : {Op::Max, Op::Min}) {
      for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{1, 2}, Ints{0, 1}}) {
        sample.results.push_back(ir::reduce(op, again, axes));
      }
    }
    const Value flat = ir::reshape(ir::broadcast(row, {1, 3, 4}, {2}), {1, 12});
    sample.results.push_back(ir::broadcast(flat, {5, 12}, {0, 1}));  // stretches axis 0
    check_pass("sink_repetitions", sample, /*specials=*/true);
  }
}

TEST_CASE("share_relu_masks keeps the values of relu and of the ops that read its mask") {
  for (const DType dtype : dtypes_in(ir::kNumbers)) {
    INFO(dtype_name(dtype));
    for (const bool convolves : {false, true}) {
      for (const bool biased : {false, true}) {
        Sample sample;
        const Value x = convolves ? sample.input(dtype, {1, 4, 4, 3}) : sample.input(dtype, {9, 3});
        const Value w = convolves ? sample.input(dtype, {3, 3, 3, 5}) : sample.input(dtype, {3, 5});
        const Value matmul = convolves ? convolution(x, w) : ir::dot(x, {0, 1}, w, {1, 2}, {0, 2});
        const Value bias = ir::broadcast_to(sample.input(dtype, {5}), matmul.dims());
        const Value sum = biased ? matmul + bias : matmul;
        const Value zero = ir::zeros_like(sum), dy = sample.input(dtype, sum.dims());
        const Value mask = ir::less_equal_to(sum, zero);
        sample.results = {ir::select(mask, zero, sum), ir::select(mask, zero, dy),
                          ir::select(mask, dy, sum), ir::logical_not(mask)};
        check_pass("share_relu_masks", sample, /*specials=*/true);
      }
    }
  }
}

TEST_CASE("widen_accumulators keeps the values of every op that accumulates") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    INFO(dtype_name(dtype));
    Sample sample;
    const Value x = sample.input(dtype, {6, 5}), y = sample.input(dtype, {5, 4});
    for (const Op op : {Op::Sum, Op::Prod, Op::Max, Op::Min}) {
      sample.results.push_back(ir::reduce(op, x, {0}));
      sample.results.push_back(ir::reduce(op, x, {0, 1}));
    }
    sample.results.push_back(ir::make(Op::ArgMax, ir::AxisAttrs{1}, {x}));
    for (const Op op : {Op::CumSum, Op::CumProd}) {
      sample.results.push_back(ir::make(op, ir::AxisAttrs{0}, {x}));
    }
    sample.results.push_back(ir::dot(x, {0, 1}, y, {1, 2}, {0, 2}));
    const Value indices = ir::constant({DType::Int32, {6}}, std::vector<std::byte>(24));
    sample.results.push_back(ir::scatter_add(indices, x, 0, 3));
    check_pass("widen_accumulators", sample, /*specials=*/false);
  }
}

TEST_CASE("widen_composites keeps the values of convolutions and attention") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    INFO(dtype_name(dtype));
    Sample sample;
    const Value x = sample.input(dtype, {2, 6, 6, 3}), filter = sample.input(dtype, {3, 3, 3, 4});
    const Value y = convolution(x, filter);
    sample.results.push_back(y);
    auto attrs = y.node->as<ir::ConvAttrs>();
    attrs.role = ConvRole::Filter;
    attrs.sizes = {3, 3};
    sample.results.push_back(ir::make(Op::Conv, attrs, {x, y}));
    attrs.role = ConvRole::Input;
    attrs.sizes = {6, 6};
    sample.results.push_back(ir::make(Op::Conv, attrs, {filter, y}));
    const Value q = sample.input(dtype, {2, 4, 5});
    const Value scale = ir::scalar_constant(dtype, 0.5);
    const Value o = ir::attention(q, q, q, scale, {}, {});
    const Value lse = o.node->result(1);
    sample.results.insert(sample.results.end(), {o, lse});
    const Value gradient =
        ir::make(Op::AttentionGradient, ir::AttentionAttrs{}, {q, q, q, scale, o, lse, o});
    for (std::uint32_t i = 0; i < 3; ++i) sample.results.push_back(gradient.node->result(i));
    check_pass("widen_composites", sample, /*specials=*/false, WideLibrary());
  }
}

TEST_CASE("widen_composites leaves what a library takes as it is, or takes in no dtype") {
  Sample sample;
  const Value x = sample.input(DType::BFloat16, {2, 6, 6, 3});
  const Value y = convolution(x, sample.input(DType::BFloat16, {3, 3, 3, 4}));
  const WholeLibrary whole;
  CHECK(widen_composites({y}, &whole) == std::vector{y});
  CHECK(widen_composites({y}, nullptr) == std::vector{y});
  const WideLibrary wide;
  const Value soft = ir::softmax(x, 3);
  CHECK(widen_composites({soft}, &wide) == std::vector{soft});
}

TEST_CASE("expand_composites keeps the values of every composite") {
  for (const DType dtype : dtypes_in(ir::kFloats)) {
    INFO(dtype_name(dtype));
    Sample sample;
    const Value x = sample.input(dtype, {4, 5});
    for (const int axis : {0, 1}) {
      sample.results.push_back(ir::softmax(x, axis));
      sample.results.push_back(ir::log_softmax(x, axis));
      sample.results.push_back(ir::variance(x, {axis}));
      sample.results.push_back(ir::make(Op::ArgSort, ir::SortAttrs{axis, axis == 1}, {x}));
    }
    sample.results.push_back(
        ir::make(Op::Require, ir::RequireAttrs{ir::Guard::Kind::LessEqual, 2, 4, "two"}, {x}));
    sample.results.push_back(ir::scale_gradient(x, x));
    sample.results.push_back(ir::make(Op::Collective, ir::CollectiveAttrs{}, {x}));
    const Value o = ir::attention(x, x, x, ir::scalar_constant(dtype, 0.5), {}, {});
    sample.results.push_back(o);
    sample.results.push_back(
        ir::make(Op::AttentionGradient, ir::AttentionAttrs{},
                 {x, x, x, ir::scalar_constant(dtype, 0.5), o, o.node->result(1), o}));
    if (dtype == DType::Float16 || dtype == DType::BFloat16) {
      const Value rows = ir::constant({DType::Int32, {4}}, std::vector<std::byte>(16));
      const Value rate = ir::scalar_constant(dtype, 0.5);
      sample.results.push_back(ir::scatter_sub(x, rate, rows, x));
    }
    check_pass("expand_composites", sample, /*specials=*/false);
  }
  std::vector<std::string_view> composites;
  for (const ir::OpDef& d : ir::all_ops()) {
    if (d.expand) composites.push_back(d.name);
  }
  // The ten above and convolutions, whose expansion tests/core/ops/conv_test.cpp compares with
  // loops.
  CHECK(composites.size() == 11);
}
