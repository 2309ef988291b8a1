// Numbers to the bytes of a dtype and back, by the essay's rules for casts and storage; and folding
// of scalar constants, which uses them.
#pragma once

#include "core/ops/op.h"

#include <cstddef>
#include <functional>

namespace kiln::ir {

/// What is subnormal as a float32 (a float64 for that dtype) counts as zero of its sign; for
/// float16 nothing is.
double flushed(double value, DType dtype);
/// The bytes of one element: converted as Cast converts from float64 (from int64).
std::vector<std::byte> scalar_bytes(DType dtype, double value);
std::vector<std::byte> scalar_bytes_int(DType dtype, std::int64_t value);

/// Blocks of n elements of a dtype to and from the widest type of its kind. `load_real` takes
/// floats, `load_integer` bool and signed integers, `load_natural` unsigned ones; subnormals are
/// flushed. Stores round once, flush, or wrap.
void load_real(DType dtype, const std::byte* from, double* to, std::int64_t n);
void load_integer(DType dtype, const std::byte* from, std::int64_t* to, std::int64_t n);
void load_natural(DType dtype, const std::byte* from, std::uint64_t* to, std::int64_t n);
void store_real(DType dtype, const double* from, std::byte* to, std::int64_t n);
void store_integer(DType dtype, const std::int64_t* from, std::byte* to, std::int64_t n);
void store_natural(DType dtype, const std::uint64_t* from, std::byte* to, std::int64_t n);

/// Cast of n elements between any two dtypes.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to,
                      std::int64_t n);

/// One elementwise op (not Cast) on n elements of its operands, which are dense.
void apply_scalar(const OpDef& d, DType operand_dtype, DType result_dtype,
                  std::span<const std::byte* const> operands, std::byte* result, std::int64_t n);

/// The scalar constant that an elementwise node on scalar constants is; empty when it has none.
Value fold_scalar(const Node& node);

}  // namespace kiln::ir
