// Converts numbers to the bytes of a dtype and back, by the rules for casts and storage in op.h,
// and folds scalar constants.
#pragma once

#include "core/ops/op.h"

#include <cstddef>
#include <functional>
#include <string>

namespace kiln::ir {

/// Flushes subnormals to zero of the same sign: those of float64 for float64, those of float32 for
/// float32 and bfloat16, none for float16.
double flushed(double value, DType dtype);
/// The bytes of one element, converted as by a Cast from float64 (from int64).
std::vector<std::byte> scalar_bytes(DType dtype, double value);
/// Whether the value, rounded to the floating dtype, is finite.
bool is_finite_in(DType dtype, double value);
std::vector<std::byte> scalar_bytes_int(DType dtype, std::int64_t value);

/// Converts n elements to or from the widest type of their kind: double for floats, int64 for bool
/// and signed integers, uint64 for unsigned ones. Floats are flushed; stores round once or wrap.
/// REQUIRES: the dtype is of that kind.
void load_floating(DType dtype, const std::byte* from, double* to, std::int64_t n);
void load_signed(DType dtype, const std::byte* from, std::int64_t* to, std::int64_t n);
void load_unsigned(DType dtype, const std::byte* from, std::uint64_t* to, std::int64_t n);
void store_floating(DType dtype, const double* from, std::byte* to, std::int64_t n);
void store_signed(DType dtype, const std::int64_t* from, std::byte* to, std::int64_t n);
void store_unsigned(DType dtype, const std::uint64_t* from, std::byte* to, std::int64_t n);

/// Casts n elements between any two dtypes.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to,
                      std::int64_t n);

/// "index 7 is outside of an axis of size 3", for an index that was cast from `dtype` to int64.
std::string outside_text(DType dtype, std::int64_t index, std::int64_t size);

/// Applies an elementwise op (not Cast) to n elements of its dense operands.
void apply_scalar(const OpDef& d, DType operand_dtype, DType result_dtype,
                  std::span<const std::byte* const> operands, std::byte* result, std::int64_t n);

/// Folds an elementwise node. REQUIRES: its operands are scalar constants.
Value fold_scalar(const Node& node);

}  // namespace kiln::ir
