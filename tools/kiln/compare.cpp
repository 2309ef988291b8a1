// Elements are compared as float64.
#include "tools/kiln/compare.h"

#include <kiln/error.h>

#include <cmath>
#include <ostream>

namespace kiln::tool {

double difference(const Array& a, const Array& b) {
  const Array wide_a = a.astype(DType::Float64), wide_b = b.astype(DType::Float64);
  const auto x = wide_a.as<double>(), y = wide_b.as<double>();
  if (a.dims() != b.dims()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double relative = std::fabs(x[i] - y[i]) / std::fmax(1, std::fabs(y[i]));
    worst = std::isnan(relative) ? INFINITY : std::fmax(worst, relative);
  }
  return worst;
}

namespace {

/// Prints the difference of each result; whether all are within the tolerance.
bool print_differences(const std::vector<Array>& actual, const std::vector<Array>& expected,
                       double tolerance, std::ostream& out) {
  bool equal = true;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double worst = difference(actual[i], expected[i]);
    equal = equal && worst <= tolerance;
    out << "result " << i << ": largest difference " << worst << "\n";
  }
  return equal;
}

bool compare_backends(const module::Module& module, const Arguments& arguments,
                      const CompareOptions& options, std::ostream& out) {
  if (options.backends.size() != 2) {
    throw ValueError("kiln compare", "--backends",
                     "name two backends, A,B; or compare a graph with its form after the passes "
                     "by --as-written");
  }
  const auto results = [&](const std::string& backend) {
    return run_module(module, arguments.values, settings_of(arguments, backend, false)).outputs;
  };
  const auto a = results(options.backends[0]);
  const auto b = results(options.backends[1]);
  return print_differences(a, b, options.tolerance, out);
}

bool compare_with_oracle(const module::Module& module, const Arguments& arguments,
                         const CompareOptions& options, std::ostream& out) {
  const std::vector<std::string> both{"reference", "cpu"};
  const auto results = [&](const std::string& backend, bool passes) {
    return run_module(module, arguments.values, settings_of(arguments, backend, passes)).outputs;
  };
  const auto expected = results("reference", false);
  bool equal = true;
  for (const std::string& backend : options.backends.empty() ? both : options.backends) {
    const auto actual = results(backend, true);
    out << backend << " after the passes, reference as written\n";
    equal = print_differences(actual, expected, options.tolerance, out) && equal;
  }
  return equal;
}

}  // namespace

bool compare(const module::Module& module, const RunOptions& run, const CompareOptions& options,
             std::ostream& out) {
  const Arguments arguments = arguments_of(module, run);
  const bool equal = options.as_written ? compare_with_oracle(module, arguments, options, out)
                                        : compare_backends(module, arguments, options, out);
  out << (equal ? "equal" : "different") << "\n";
  return equal;
}

}  // namespace kiln::tool
