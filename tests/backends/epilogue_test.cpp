// Tests matmuls and convolutions followed by reshapes, biases, scales and relus in any order,
// against sums in double. A backend may fuse one bias and then one relu into the call that
// multiplies, and scales into the filter of a convolution.
#include "tests/backends/always_built.h"
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace kiln;
using kiln::test::kBackends;

namespace {

constexpr std::int64_t kColumns = 6, kK = 4;

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

struct Source {
  const char* name;
  std::vector<std::int64_t> input, filter;
  std::vector<ShapeEntry> shape;  // of the input's placeholder
  Tensor (*apply)(const Tensor& x, const Tensor& filter);
  std::vector<double> (*sums)(const std::vector<float>& x, const std::vector<float>& filter);
};

/// The product of 4 rows of x and the filter.
std::vector<double> matmul(const std::vector<float>& x, const std::vector<float>& filter) {
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size() / kK; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (std::size_t d = 0; d < kK; ++d) {
        sum += double{x[i * kK + d]} * double{filter[d * kColumns + j]};
      }
      out.push_back(sum);
    }
  }
  return out;
}

/// Convolves two 3x3 images of 4 channels with 2x2 windows, without padding.
std::vector<double> convolution(const std::vector<float>& x, const std::vector<float>& filter) {
  std::vector<double> out;
  for (std::size_t position = 0; position < 2 * 2 * 2; ++position) {
    const std::size_t image = position / 4, row = position / 2 % 2, column = position % 2;
    for (std::size_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 2 * 2 * kK; ++k) {
        const std::size_t y = k / (2 * kK), z = k / kK % 2, d = k % kK;
        const std::size_t at = ((image * 3 + row + y) * 3 + column + z) * kK + d;
        sum += double{x[at]} * double{filter[k * kColumns + j]};
      }
      out.push_back(sum);
    }
  }
  return out;
}

const Source kSources[] = {
    {"dot",
     {4, 2, kK},
     {kK, kColumns},
     {None, 2, kK},
     [](const Tensor& x, const Tensor& filter) { return dot(reshape(x, {-1, kK}), filter); },
     matmul},
    {"conv2d",
     {2, 3, 3, kK},
     {2, 2, kK, kColumns},
     {None, 3, 3, kK},
     [](const Tensor& x, const Tensor& filter) { return conv2d(x, filter); },
     convolution},
};

/// A result and the plain values that it must have.
struct Chain {
  Tensor tensor;
  std::vector<double> want;
  Tensor first;  // after one step
  std::vector<double> first_want;
};

/// The rows of the last two axes, or of the last, as (.., 2, 6), (.., 3, 2) and (.., 6).
enum class Layout { Flat, Rows, Columns };

/// Steps: 'r' splits or joins rows, 'c' splits or joins columns, 'b' adds a bias, 's' multiplies by
/// a scale, 'd' divides by one, 'u' is relu, 'm' and 'n' are two forms of relu with a bound.
class Steps {
 public:
  Steps(Chain& chain, bool one_bias) : chain_(chain), one_bias_(one_bias) {}

  void take(char step) {
    if (step == 'r') to(layout_ == Layout::Rows ? Layout::Flat : Layout::Rows);
    if (step == 'c') to(layout_ == Layout::Columns ? Layout::Flat : Layout::Columns);
    if (step == 'b') add_bias();
    if (step == 's' || step == 'd') scale(step == 'd');
    if (step == 'u') take_relu(INFINITY);
    if (step == 'm') take_relu(0.25);
    if (step == 'n') {
      chain_.tensor = clip(chain_.tensor, 0, 0.375);
      bound_values(0.375);
    }
    if (!chain_.first.empty()) return;
    chain_.first = chain_.tensor;
    chain_.first_want = chain_.want;
  }

 private:
  void to(Layout layout) {
    layout_ = layout;
    Tensor& x = chain_.tensor;
    if (layout == Layout::Flat) x = reshape(x, {-1, kColumns});
    if (layout == Layout::Rows) x = reshape(x, {-1, 2, kColumns});
    if (layout == Layout::Columns) x = reshape(x, {-1, 3, 2});
  }
  /// The first bias of split columns has all of them, the next one those of the last axis.
  void add_bias() {
    const bool is_split = layout_ == Layout::Columns;
    const std::vector<std::int64_t> dims = !is_split         ? std::vector<std::int64_t>{kColumns}
                                           : count_ % 2 == 0 ? std::vector<std::int64_t>{3, 2}
                                                             : std::vector<std::int64_t>{2};
    const std::size_t size = is_split && count_ % 2 != 0 ? 2 : kColumns;
    const std::vector<float> values = drawn(size, one_bias_ ? 7 : 7 + count_);
    const Tensor bias = one_bias_ && size == kColumns && !is_split
                            ? shared(values)
                            : Tensor(variable(Array(values, dims)));
    chain_.tensor = count_ % 2 == 0 ? chain_.tensor + bias : bias + chain_.tensor;
    for (std::size_t i = 0; i < chain_.want.size(); ++i) chain_.want[i] += double{values[i % size]};
    ++count_;
  }
  const Tensor& shared(const std::vector<float>& values) {
    if (shared_.empty()) shared_ = variable(Array(values));
    return shared_;
  }
  void scale(bool divides) {
    const std::size_t size = layout_ == Layout::Columns ? 2 : kColumns;
    std::vector<float> values = drawn(size, 900 + count_++);
    for (float& value : values) value += value < 0 ? -0.5f : 0.5f;
    Tensor& x = chain_.tensor;
    const Tensor by = variable(Array(values));
    x = divides ? x / by : count_ % 2 == 0 ? x * by : by * x;
    for (std::size_t i = 0; i < chain_.want.size(); ++i) {
      const double value = values[i % size];
      chain_.want[i] *= divides ? 1 / value : value;
    }
  }
  void take_relu(double bound) {
    ReluOptions options;
    if (std::isfinite(bound)) options.max_value = bound;
    chain_.tensor = relu(chain_.tensor, options);
    bound_values(bound);
  }
  void bound_values(double bound) {
    for (double& value : chain_.want) value = value <= 0 ? 0 : value > bound ? bound : value;
  }

  Chain& chain_;
  bool one_bias_;
  Layout layout_ = Layout::Flat;
  unsigned count_ = 0;
  Tensor shared_;
};

std::string mismatch_of(const Array& found, const std::vector<double>& want) {
  if (static_cast<std::size_t>(found.size()) != want.size()) return "another size";
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double got = found.as<float>()[i];
    if (std::isnan(want[i]) ? std::isnan(got) : std::fabs(got - want[i]) < 1e-5) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(got) + ", not " +
           std::to_string(want[i]);
  }
  return "";
}

std::size_t product(const std::vector<std::int64_t>& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

/// All chains of that many steps of these letters.
std::vector<std::string> chains_of(std::size_t length, const std::string& letters) {
  std::vector<std::string> chains{""};
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<std::string> longer;
    for (const std::string& chain : chains) {
      for (const char step : letters) longer.push_back(chain + step);
    }
    chains = std::move(longer);
  }
  return chains;
}

/// Compiles many chains, each on a matmul of its own, as one function. `twice`: the value after the
/// first step is a result, too, so that its second use forbids fusion.
void check_chains(const Source& source, const std::vector<std::string>& chains, bool one_bias,
                  bool twice) {
  const Tensor x = placeholder({.shape = Shape(source.shape), .name = "x"});
  const std::size_t size = product(source.input);
  std::vector<float> fed = drawn(size, 1);
  fed[1] = NAN;
  std::vector<Tensor> outputs;
  std::vector<std::vector<double>> want;
  unsigned seed = 100;
  for (const std::string& steps : chains) {
    const std::vector<float> filter = drawn(product(source.filter), ++seed);
    Chain chain;
    chain.tensor = source.apply(x, variable(Array(filter, source.filter)));
    chain.want = source.sums(fed, filter);
    Steps taken(chain, one_bias);
    for (const char step : steps) taken.take(step);
    outputs.push_back(chain.tensor);
    want.push_back(chain.want);
    if (!twice) continue;
    outputs.push_back(chain.first);
    want.push_back(chain.first_want);
  }
  for (const char* backend : kBackends) {
    const auto found = function({x}, outputs, {.backend = backend})({Array(fed, source.input)});
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(backend << ", " << source.name << ", steps " << chains[twice ? i / 2 : i]);
      CHECK(mismatch_of(found[i], want[i]) == "");
    }
  }
}

void check_all_chains(std::size_t max_length, const std::string& letters) {
  for (const Source& source : kSources) {
    for (std::size_t length = 1; length <= max_length; ++length) {
      const std::vector<std::string> all = chains_of(length, letters);
      for (std::size_t begin = 0; begin < all.size(); begin += 32) {
        const std::size_t end = std::min(begin + 32, all.size());
        const std::vector<std::string> chains(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                              all.begin() + static_cast<std::ptrdiff_t>(end));
        for (const bool one_bias : {false, true}) {
          for (const bool twice : {false, true}) check_chains(source, chains, one_bias, twice);
          clear_session();
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("epilogues: every order of reshape, bias and relu after a matmul or convolution") {
  check_all_chains(4, "rcbu");
}

TEST_CASE("epilogues: every order of scales, biases and relus with and without a bound") {
  check_all_chains(3, "cbsdumn");
}

TEST_CASE("epilogues: a second bias, and a bias after relu, are separate kernels") {
  // The first three are `relu(reshape(d + b, {-1, 3, 2}))`, `reshape(relu(d)) + b` and
  // `reshape(d + b) + b`.
  const std::vector<std::string> chains = {"bcu", "urb", "brb", "brub", "urbu", "bub", "bb", "ub"};
  for (const Source& source : kSources) {
    for (const bool one_bias : {false, true}) {
      for (const std::string& chain : chains) check_chains(source, {chain}, one_bias, false);
    }
  }
}
