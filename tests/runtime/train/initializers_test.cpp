// Tests kiln/initializers.h: fans, moments of large samples, seeds, names, and misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

using testing::throws;
namespace init = kiln::initializers;

struct Moments {
  double mean = 0, stddev = 0, largest = 0;
};

Moments moments_of(const Array& array) {
  Moments m;
  const Array doubles = array.astype(DType::Float64);
  const auto values = doubles.as<double>();
  for (const double x : values) {
    m.mean += x / static_cast<double>(values.size());
    m.largest = std::max(m.largest, std::abs(x));
  }
  for (const double x : values) {
    m.stddev += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  }
  m.stddev = std::sqrt(m.stddev);
  return m;
}

/// The largest |W^T W - gain^2 I|, or of W W^T if the matrix has fewer rows than columns.
double distance_from_orthogonal(const Array& w, double gain) {
  const std::int64_t columns = w.dims().back(), rows = w.size() / columns;
  const Array flat = w.reshape({rows, columns});
  const bool by_rows = rows < columns;
  const std::int64_t count = std::min(rows, columns), size = std::max(rows, columns);
  const auto at = [&](std::int64_t vector, std::int64_t k) {
    return by_rows ? flat.at<double>(vector, k) : flat.at<double>(k, vector);
  };
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      double dot = 0;
      for (std::int64_t k = 0; k < size; ++k) dot += at(i, k) * at(j, k);
      largest = std::max(largest, std::abs(dot - (i == j ? gain * gain : 0)));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("initializers: draws have the moments of their distribution, by the fans") {
  struct Row {
    const char* name;
    Initializer initializer;
    std::vector<std::int64_t> shape;
    double mean, stddev, largest;  // largest: the bound of |x|, or 0 without one
  };
  const double truncated = 0.87962566103423978;
  const auto scaling = [](const char* mode, const char* distribution) {
    return init::VarianceScaling(
        {.scale = 3, .mode = mode, .distribution = distribution, .seed = 5});
  };
  // A kernel (5, 4, 30, 50) has 5 * 4 * 30 inputs and 5 * 4 * 50 outputs.
  const std::vector<std::int64_t> matrix{100, 300}, kernel{5, 4, 30, 50};
  const std::vector<Row> rows{
      {"RandomNormal", init::RandomNormal({.mean = 1, .seed = 1}), matrix, 1, 0.05, 0},
      {"RandomUniform", init::RandomUniform({.seed = 1}), matrix, 0, 0.1 / std::sqrt(12.), 0.05},
      {"TruncatedNormal", init::TruncatedNormal({.stddev = 2, .seed = 1}), matrix, 0, 2 * truncated,
       4},
      {"GlorotNormal", init::GlorotNormal({.seed = 2}), matrix, 0, std::sqrt(1 / 200.),
       2 * std::sqrt(1 / 200.) / truncated},
      {"GlorotUniform", init::GlorotUniform({.seed = 2}), matrix, 0, std::sqrt(1 / 200.),
       std::sqrt(3 / 200.)},
      {"HeNormal", init::HeNormal({.seed = 2}), kernel, 0, std::sqrt(2 / 600.),
       2 * std::sqrt(2 / 600.) / truncated},
      {"HeUniform", init::HeUniform({.seed = 2}), kernel, 0, std::sqrt(2 / 600.),
       std::sqrt(6 / 600.)},
      {"LecunNormal", init::LecunNormal({.seed = 2}), kernel, 0, std::sqrt(1 / 600.),
       2 * std::sqrt(1 / 600.) / truncated},
      {"LecunUniform", init::LecunUniform({.seed = 2}), kernel, 0, std::sqrt(1 / 600.),
       std::sqrt(3 / 600.)},
      {"fan_in", scaling("fan_in", "untruncated_normal"), kernel, 0, std::sqrt(3 / 600.), 0},
      {"fan_out", scaling("fan_out", "uniform"), kernel, 0, std::sqrt(3 / 1000.), 0},
      {"fan_avg", scaling("fan_avg", "normal"), kernel, 0, std::sqrt(3 / 800.), 0},
      {"a vector", scaling("fan_out", "uniform"), {30000}, 0, std::sqrt(3 / 30000.), 0}};
  for (const Row& row : rows) {
    INFO(row.name);
    const Array drawn = row.initializer(row.shape);
    REQUIRE(drawn.dims() == row.shape);
    const Moments m = moments_of(drawn);
    CHECK(m.mean == Approx(row.mean).margin(4 * row.stddev / std::sqrt(30000.)));
    CHECK(m.stddev == Approx(row.stddev).epsilon(0.02));
    if (row.largest > 0) {
      CHECK(m.largest <= row.largest * 1.000001);
      CHECK(m.largest > row.largest * 0.98);
    }
  }
  CHECK(moments_of(scaling("fan_in", "uniform")({})).largest <= 3);
}

TEST_CASE("initializers: a seed repeats the draws, without one each call draws anew") {
  const std::vector<Initializer (*)(std::optional<Seed>)> makes{
      [](std::optional<Seed> seed) { return init::RandomNormal({.seed = seed}); },
      [](std::optional<Seed> seed) { return init::RandomUniform({.seed = seed}); },
      [](std::optional<Seed> seed) { return init::TruncatedNormal({.seed = seed}); },
      [](std::optional<Seed> seed) { return init::GlorotUniform({.seed = seed}); },
      [](std::optional<Seed> seed) { return init::HeNormal({.seed = seed}); },
      [](std::optional<Seed> seed) { return init::Orthogonal({.seed = seed}); }};
  for (const auto& make : makes) {
    const Initializer seeded = make(4), other = make(5), unseeded = make({});
    CHECK(seeded({3, 4}) == seeded({3, 4}));
    CHECK_FALSE(seeded({3, 4}) == other({3, 4}));
    CHECK_FALSE(unseeded({3, 4}) == unseeded({3, 4}));
    set_random_seed(9);
    const Array first = unseeded({3, 4});
    set_random_seed(9);
    CHECK(unseeded({3, 4}) == first);
  }
}

TEST_CASE("initializers: Orthogonal makes orthonormal columns or rows") {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {4, 4}, {7, 3}, {3, 7}, {2, 3, 5}, {3, 3, 2, 40}, {1, 1}, {64, 256}}) {
    const Array w = init::Orthogonal({.gain = 1.5, .seed = 3})(shape, "float64");
    REQUIRE(w.dims() == shape);
    CHECK(distance_from_orthogonal(w, 1.5) < 1e-13);
  }
  CHECK(init::Orthogonal()({0, 3}).size() == 0);
}

TEST_CASE("initializers: constants, and any dtype") {
  CHECK(init::Zeros()({2}, "int32") == Array{0, 0});
  CHECK(init::Ones()({1, 2}) == Array{{1.f, 1.f}});
  CHECK(init::Constant({.value = 2.5})({2}, "float64") == Array{2.5, 2.5});
  CHECK(init::Identity({.gain = 3})({2, 3}) == Array{{3.f, 0.f, 0.f}, {0.f, 3.f, 0.f}});
  CHECK(init::GlorotNormal()({2}, "bfloat16").dtype() == DType::BFloat16);
  set_floatx("float64");
  CHECK(init::Zeros()({1}).dtype() == DType::Float64);
  set_floatx("float32");
}

TEST_CASE("initializers: names are Keras', and a function is an initializer") {
  for (const char* name :
       {"zeros", "ones", "constant", "random_normal", "random_uniform", "truncated_normal",
        "variance_scaling", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
        "lecun_normal", "lecun_uniform", "orthogonal", "identity", "uniform", "normal"}) {
    INFO(name);
    CHECK(Initializer(name)({2, 2}).size() == 4);
  }
  set_random_seed(3);
  const Array by_name = Initializer("he_uniform")({5});
  set_random_seed(3);
  CHECK(by_name == init::HeUniform()({5}));
  const Initializer own = [](const std::vector<std::int64_t>& shape, DType dtype) {
    return Array::full(shape, 7, dtype);
  };
  CHECK(own({2}) == Array{7.f, 7.f});
}

TEST_CASE("initializers: misuse") {
  using testing::Misuse;
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { Initializer("glorot_unifrom"); },
       "Initializer: unknown initializer 'glorot_unifrom'; did you mean 'glorot_uniform'?"},
      {throws<ValueError>(), [] { Initializer("he"); }, "Initializer: unknown initializer 'he'"},
      {throws<ValueError>(), [] { init::RandomNormal({.stddev = -1}); },
       "RandomNormal: stddev -1 is negative or not finite"},
      {throws<ValueError>(), [] { init::TruncatedNormal({.mean = INFINITY}); },
       "TruncatedNormal: mean inf is not finite"},
      {throws<ValueError>(), [] { init::RandomUniform({.minval = 1}); },
       "RandomUniform: minval 1 and maxval 0.05 are not in order or not finite"},
      {throws<ValueError>(), [] { init::VarianceScaling({.scale = 0}); },
       "VarianceScaling: scale 0 is not positive or not finite"},
      {throws<ValueError>(), [] { init::VarianceScaling({.mode = "fan"}); },
       "VarianceScaling: unknown mode 'fan': expected fan_in, fan_out, fan_avg"},
      {throws<ValueError>(), [] { init::Orthogonal({.gain = NAN}); },
       "Orthogonal: gain nan is not finite"},
      {throws<ValueError>(), [] { init::Orthogonal()({3}); },
       "Orthogonal: an orthogonal matrix has rank 2 or more, not the shape (3)"},
      {throws<TypeError>(), [] { init::Orthogonal()({3, 3}, "int32"); },
       "Orthogonal: dtype int32 is not floating point"},
      {throws<TypeError>(), [] { Initializer("he_normal")({3, 3}, "int32"); },
       "Initializer: dtype int32 is not floating point"},
      {throws<TypeError>(), [] { Initializer("he_uniform")({3, 3}, "int32"); },
       "Initializer: dtype int32 is not floating point"},
      {throws<ValueError>(), [] { init::Identity()({3}); },
       "Identity: an identity has rank 2, not the shape (3)"},
      {throws<ValueError>(), [] { init::Zeros()({2, -1}); },
       "Initializer: shape (2, -1) has a negative size"},
      {throws<TypeError>(), [] { init::Zeros()({2}, "float"); },
       "Initializer: unknown dtype 'float'"},
      {throws<ValueError>(1),
       [] { Initializer([](const auto&, DType) { return Array(1.f); })({2}); },
       "Initializer: the function returned float32 of shape (), not float32 of shape (2)"}});
}

}  // namespace kiln
