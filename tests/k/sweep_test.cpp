// Sweeps elementwise functions, reductions and activations over dims of 0 and 1, scalars, unknown
// dims, every axis from both ends, and every dtype. Expected values are plain loops over std::
// functions in double.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

#include "core/types/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;

const Dims kSweepDims[] = {{}, {1}, {5}, {0}, {1, 1}, {2, 3}, {3, 0, 2}, {2, 1, 3}, {1, 4, 1, 2}};

/// From -2 to 2 in steps that are not round numbers.
Array wave(const Dims& dims) {
  Array x = Array::zeros(dims, DType::Float64);
  std::size_t i = 0;
  for (double& element : x.as<double>()) element = 2 * std::sin(1.7 * static_cast<double>(++i));
  return x;
}

Tensor unknown(const Array& x) {
  std::vector<ShapeEntry> shape(static_cast<std::size_t>(x.rank()), ShapeEntry(None));
  return placeholder({.shape = shape, .dtype = x.dtype(), .name = "x"});
}
Tensor known(const Array& x) {
  return placeholder({.shape = x.dims(), .dtype = x.dtype(), .name = "x"});
}

struct Unary {
  const char* name;
  Tensor (*build)(const Tensor& x);
  double (*formula)(double x);
};

const Unary kUnary[] = {
    {"square", [](const Tensor& x) { return square(x); }, [](double x) { return x * x; }},
    {"abs", [](const Tensor& x) { return abs(x); }, [](double x) { return std::fabs(x); }},
    {"sqrt", [](const Tensor& x) { return sqrt(x); },
     [](double x) { return x > 0 ? std::sqrt(x) : 0; }},
    {"exp", [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }},
    {"log", [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }},
    {"round", [](const Tensor& x) { return round(x); }, [](double x) { return std::nearbyint(x); }},
    {"sign", [](const Tensor& x) { return sign(x); },
     [](double x) { return x > 0   ? 1.
                           : x < 0 ? -1.
                                   : 0.; }},
    {"sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }},
    {"pow", [](const Tensor& x) { return pow(x, 3); }, [](double x) { return x * x * x; }},
    {"clip", [](const Tensor& x) { return clip(x, -1, 0.5); },
     [](double x) { return std::min(std::max(x, -1.), 0.5); }},
    {"maximum", [](const Tensor& x) { return maximum(x, 0.5); },
     [](double x) { return std::max(x, 0.5); }},
    {"minimum", [](const Tensor& x) { return minimum(0.5, x); },
     [](double x) { return std::min(x, 0.5); }},
    {"relu", [](const Tensor& x) { return relu(x, {.alpha = 0.25, .max_value = 1.5}); },
     [](double x) { return x < 0 ? 0.25 * x : std::min(x, 1.5); }},
    {"elu", [](const Tensor& x) { return elu(x, {.alpha = 0.5}); },
     [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); },
     [](double x) { return std::log(1 + std::exp(x)); }},
    {"softsign", [](const Tensor& x) { return softsign(x); },
     [](double x) { return x / (1 + std::fabs(x)); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); },
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }},
    {"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); },
     [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }},
    {"hard_sigmoid", [](const Tensor& x) { return hard_sigmoid(x); },
     [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.), 1.); }},
};

using Elements = std::vector<double>;

double sum_of(const Elements& x) { return std::accumulate(x.begin(), x.end(), 0.); }
double mean_of(const Elements& x) { return sum_of(x) / static_cast<double>(x.size()); }
double var_of(const Elements& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const double element : x) sum += (element - mean) * (element - mean);
  return sum / static_cast<double>(x.size());
}

struct Reduction {
  const char* name;
  Tensor (*build)(const Tensor& x, const AxisOptions& options);
  double (*formula)(const Elements& x);
};

const Reduction kSweepReductions[] = {
    {"max", [](const Tensor& x, const AxisOptions& o) { return max(x, o); },
     [](const Elements& x) {
       return std::accumulate(x.begin(), x.end(), -HUGE_VAL,
                              [](double a, double b) { return std::max(a, b); });
     }},
    {"min", [](const Tensor& x, const AxisOptions& o) { return min(x, o); },
     [](const Elements& x) {
       return std::accumulate(x.begin(), x.end(), HUGE_VAL,
                              [](double a, double b) { return std::min(a, b); });
     }},
    {"sum", [](const Tensor& x, const AxisOptions& o) { return sum(x, o); }, sum_of},
    {"prod", [](const Tensor& x, const AxisOptions& o) { return prod(x, o); },
     [](const Elements& x) {
       return std::accumulate(x.begin(), x.end(), 1., std::multiplies<>());
     }},
    {"mean", [](const Tensor& x, const AxisOptions& o) { return mean(x, o); }, mean_of},
    {"var", [](const Tensor& x, const AxisOptions& o) { return var(x, o); }, var_of},
    {"std", [](const Tensor& x, const AxisOptions& o) { return std(x, o); },
     [](const Elements& x) { return std::sqrt(var_of(x)); }},
    {"any", [](const Tensor& x, const AxisOptions& o) { return cast(any(x, o), "float64"); },
     [](const Elements& x) { return x.empty() ? 0. : 1.; }},
    {"all", [](const Tensor& x, const AxisOptions& o) { return cast(all(x, o), "float64"); },
     [](const Elements&) { return 1.; }},
    {"logsumexp", [](const Tensor& x, const AxisOptions& o) { return logsumexp(x, o); },
     [](const Elements& x) {
       double sum = 0;
       for (const double element : x) sum += std::exp(element);
       return std::log(sum);
     }},
};

bool holds(const std::vector<std::int64_t>& axes, std::int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// The formula over each group of elements that differ only along `axes` (not negative).
Array reduced(const Array& x, const std::vector<std::int64_t>& axes, bool keepdims,
              double (*formula)(const Elements&)) {
  Dims dims, kept;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t size = x.dims()[static_cast<std::size_t>(axis)];
    kept.push_back(holds(axes, axis) ? 1 : size);
    if (!holds(axes, axis) || keepdims) dims.push_back(kept.back());
  }
  Array result = Array::zeros(dims, DType::Float64);
  std::vector<Elements> groups(static_cast<std::size_t>(result.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t rest = i, group = 0, stride = 1;
    for (std::size_t axis = kept.size(); axis-- > 0;) {
      const std::int64_t at = rest % x.dims()[axis];
      rest /= x.dims()[axis];
      if (kept[axis] != 1) group += at * stride;
      stride *= kept[axis];
    }
    groups[static_cast<std::size_t>(group)].push_back(x.as<double>()[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) result.as<double>()[i] = formula(groups[i]);
  return result;
}

/// Choices of axes of that rank: each alone from both ends, two, and all.
std::vector<std::vector<std::int64_t>> choices(int rank) {
  std::vector<std::vector<std::int64_t>> all{{}};
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    all.push_back({axis});
    all.push_back({axis - rank});
    all[0].push_back(axis);
    if (axis > 0) all.push_back({axis - rank, 0});
  }
  return all;
}

enum class Takes { Floats, Numbers, All };

struct Dtypes {
  const char* name;
  Tensor (*build)(const Tensor& x);
  Takes takes;
  const char* result;  // "" is the dtype of x, "mean" that or floatx()
};

const Dtypes kDtypes[] = {
    {"square", [](const Tensor& x) { return square(x); }, Takes::Numbers, ""},
    {"abs", [](const Tensor& x) { return abs(x); }, Takes::Numbers, ""},
    {"round", [](const Tensor& x) { return round(x); }, Takes::Numbers, ""},
    {"sign", [](const Tensor& x) { return sign(x); }, Takes::Numbers, ""},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }, Takes::Floats, ""},
    {"exp", [](const Tensor& x) { return exp(x); }, Takes::Floats, ""},
    {"log", [](const Tensor& x) { return log(x); }, Takes::Floats, ""},
    {"sin", [](const Tensor& x) { return sin(x); }, Takes::Floats, ""},
    {"cos", [](const Tensor& x) { return cos(x); }, Takes::Floats, ""},
    {"erf", [](const Tensor& x) { return erf(x); }, Takes::Floats, ""},
    {"pow", [](const Tensor& x) { return pow(x, x); }, Takes::Numbers, ""},
    {"clip", [](const Tensor& x) { return clip(x, 0, 3); }, Takes::Numbers, ""},
    {"maximum", [](const Tensor& x) { return maximum(x, x); }, Takes::Numbers, ""},
    {"minimum", [](const Tensor& x) { return minimum(x, x); }, Takes::Numbers, ""},
    {"equal", [](const Tensor& x) { return equal(x, x); }, Takes::All, "bool"},
    {"not_equal", [](const Tensor& x) { return not_equal(x, x); }, Takes::All, "bool"},
    {"less", [](const Tensor& x) { return less(x, x); }, Takes::All, "bool"},
    {"less_equal", [](const Tensor& x) { return less_equal(x, x); }, Takes::All, "bool"},
    {"greater", [](const Tensor& x) { return greater(x, x); }, Takes::All, "bool"},
    {"greater_equal", [](const Tensor& x) { return greater_equal(x, x); }, Takes::All, "bool"},
    {"max", [](const Tensor& x) { return max(x); }, Takes::All, ""},
    {"min", [](const Tensor& x) { return min(x); }, Takes::All, ""},
    {"sum", [](const Tensor& x) { return sum(x); }, Takes::Numbers, ""},
    {"prod", [](const Tensor& x) { return prod(x); }, Takes::Numbers, ""},
    {"cumsum", [](const Tensor& x) { return cumsum(x); }, Takes::Numbers, ""},
    {"cumprod", [](const Tensor& x) { return cumprod(x); }, Takes::Numbers, ""},
    {"mean", [](const Tensor& x) { return mean(x); }, Takes::All, "mean"},
    {"var", [](const Tensor& x) { return var(x); }, Takes::All, "mean"},
    {"std", [](const Tensor& x) { return std(x); }, Takes::All, "mean"},
    {"any", [](const Tensor& x) { return any(x); }, Takes::All, "bool"},
    {"all", [](const Tensor& x) { return all(x); }, Takes::All, "bool"},
    {"argmax", [](const Tensor& x) { return argmax(x); }, Takes::All, "int64"},
    {"argmin", [](const Tensor& x) { return argmin(x); }, Takes::All, "int64"},
    {"logsumexp", [](const Tensor& x) { return logsumexp(x); }, Takes::Floats, ""},
    {"relu", [](const Tensor& x) { return relu(x); }, Takes::Numbers, ""},
    {"elu", [](const Tensor& x) { return elu(x); }, Takes::Floats, ""},
    {"gelu", [](const Tensor& x) { return gelu(x); }, Takes::Floats, ""},
    {"softmax", [](const Tensor& x) { return softmax(x); }, Takes::Floats, ""},
    {"softplus", [](const Tensor& x) { return softplus(x); }, Takes::Floats, ""},
    {"softsign", [](const Tensor& x) { return softsign(x); }, Takes::Floats, ""},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, Takes::Floats, ""},
    {"tanh", [](const Tensor& x) { return tanh(x); }, Takes::Floats, ""},
    {"hard_sigmoid", [](const Tensor& x) { return hard_sigmoid(x); }, Takes::Floats, ""},
    {"l2_normalize", [](const Tensor& x) { return l2_normalize(x); }, Takes::Floats, ""},
};

bool taken(Takes takes, DType dtype) {
  if (takes == Takes::Floats) return is_float(dtype);
  return takes == Takes::All || dtype != DType::Bool;
}

}  // namespace

TEST_CASE("sweep: elementwise functions over all kinds of dims", "[k]") {
  for (const Dims& dims : kSweepDims) {
    const Array x = wave(dims);
    std::vector<Array> expected;
    Tensors results;
    const Tensor p = unknown(x), q = known(x);
    for (const Unary& row : kUnary) {
      Array values = x;
      for (double& element : values.as<double>()) element = row.formula(element);
      for (const Tensor& input : {p, q}) {
        results.push_back(row.build(input));
        expected.push_back(values);
      }
      CHECK(int_shape(results.back()) == int_shape(q));
    }
    const auto got = evaluate({p, q}, results, {x, x});
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(kUnary[i / 2].name << " of (" << join_text(dims) << ")");
      CHECK(difference(got[i], expected[i], 1e-12) == "");
    }
  }
}

TEST_CASE("sweep: reductions over every axis of all kinds of dims", "[k]") {
  for (const Dims& dims : kSweepDims) {
    const Array x = wave(dims);
    std::vector<Array> expected;
    std::vector<std::string> names;
    Tensors results;
    const Tensor p = unknown(x), q = known(x);
    for (const Reduction& row : kSweepReductions) {
      for (const auto& axes : choices(x.rank())) {
        std::vector<std::int64_t> positive = axes;
        for (std::int64_t& axis : positive) axis += axis < 0 ? x.rank() : 0;
        for (const bool keepdims : {false, true}) {
          const AxisOptions options{.axis = axes, .keepdims = keepdims};
          results.push_back(row.build(keepdims ? p : q, options));
          expected.push_back(reduced(x, positive, keepdims, row.formula));
          names.push_back(text(row.name, " of (", join_text(dims), ") over ", join_text(axes)));
        }
      }
    }
    const auto got = evaluate({p, q}, results, {x, x});
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(names[i]);
      CHECK(difference(got[i], expected[i], 1e-12) == "");
    }
  }
}

TEST_CASE("sweep: functions take the dtypes that their headers list", "[k]") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor x = placeholder({.shape = {3}, .dtype = dtype, .name = "x"});
    Tensors results;
    for (const Dtypes& row : kDtypes) {
      INFO(row.name << " of " << dtype);
      if (!taken(row.takes, dtype)) {
        const char* reason = row.takes == Takes::Floats ? "floating point" : "bool, not a number";
        const std::string error = testing::error_text<TypeError>([&] { row.build(x); });
        CHECK_THAT(error, Catch::Matchers::StartsWith(text(row.name, ": x is ")) &&
                              Catch::Matchers::ContainsSubstring(reason));
        continue;
      }
      const std::string own(dtype_name(dtype));
      const std::string result = row.result;
      const std::string wanted = result.empty()     ? own
                                 : result != "mean" ? result
                                 : is_float(dtype)  ? own
                                                    : floatx();
      results.push_back(row.build(x));
      CHECK(kiln::dtype(results.back()) == wanted);
    }
    const auto got = evaluate({x}, results, {Array{1, 0, 1}.astype(dtype)});
    CHECK(got.size() == results.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      CHECK(dtype_name(got[k].dtype()) == kiln::dtype(results[k]));
    }
  }
}

TEST_CASE("sweep: integers and narrow floats have the values of wide ones", "[k]") {
  const Array values{3, 1, 2};
  Tensors wide;
  const Tensor w = placeholder({.shape = {3}, .dtype = "float64", .name = "w"});
  for (const Dtypes& row : kDtypes) wide.push_back(row.build(w));
  const auto expected = evaluate({w}, wide, {values});
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor x = placeholder({.shape = {3}, .dtype = dtype, .name = "x"});
    Tensors results;
    std::vector<std::size_t> rows;
    for (std::size_t k = 0; k < std::size(kDtypes); ++k) {
      if (!taken(kDtypes[k].takes, dtype)) continue;
      results.push_back(kDtypes[k].build(x));
      rows.push_back(k);
    }
    const auto got = evaluate({x}, results, {values.astype(dtype)});
    for (std::size_t k = 0; k < got.size(); ++k) {
      INFO(kDtypes[rows[k]].name << " of " << dtype);
      const bool narrow = dtype == DType::BFloat16 || dtype == DType::Float16;
      const double tolerance = dtype == DType::BFloat16 ? 8e-3 : narrow ? 1e-3 : 1e-6;
      CHECK(difference(got[k].astype(DType::Float64), expected[rows[k]].astype(DType::Float64),
                       tolerance) == "");
    }
  }
}

}  // namespace kiln::test
