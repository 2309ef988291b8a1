// Evaluates graphs on a backend, below the K functions, for the tests of ops.
#pragma once

#include "core/ops/lambda_builder.h"
#include "runtime/function/compile/compiled_program.h"

#include <kiln/array.h>

#include <random>

namespace kiln::test {

/// The backend under test: KILN_TEST_BACKEND, or "reference".
std::string tested_backend();

/// Evaluates `results` as a function of `parameters` (fresh parameters or placeholders of static
/// types), without any pass unless `optimise`: on "reference" that is the oracle.
std::vector<Array> evaluate(const std::vector<ir::Value>& parameters,
                            const std::vector<ir::Value>& results, const std::vector<Array>& feeds,
                            const std::string& backend = tested_backend(), bool optimise = false);

/// A placeholder that differs from all others.
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
