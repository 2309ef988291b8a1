// Evaluating graphs through a backend, below the K functions: the frame of the op tests.
#pragma once

#include "core/ops/lambda_builder.h"
#include "runtime/function/compile/program.h"

#include <kiln/array.h>

#include <random>

namespace kiln::test {

/// The backend that is being tested: KILN_TEST_BACKEND, or "reference".
std::string tested_backend();

/// `results` as a function of `parameters` (fresh parameters or placeholders of static types), on
/// that backend, without any pass when `optimise` is false: on "reference" that is the oracle.
std::vector<Array> evaluate(const std::vector<ir::Value>& parameters,
                            const std::vector<ir::Value>& results, const std::vector<Array>& feeds,
                            const std::string& backend = tested_backend(),
                            bool optimise = false);

/// A placeholder that nothing else is.
ir::Value placeholder(const ir::Type& type, const std::string& name = "x");
ir::Type type_of(const Array& array);

/// Uniform in [low, high), rounded to the dtype.
Array random_array(std::mt19937_64& generator, const ir::Type& type, double low, double high);
/// Elements as float64.
std::vector<double> doubles(const Array& array);
/// Like numpy.testing: |a - b| <= absolute + relative |b|, NaN equal to NaN; the first difference
/// as text, empty when there is none.
std::string difference(const Array& a, const Array& b, double relative, double absolute);

}  // namespace kiln::test
