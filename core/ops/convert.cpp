// Converts between dtypes and the widest type of their kind (double, int64, uint64), block by
// block. Casts, scalar meanings and constant folding are built on these loops, and so is the
// reference backend, whose results the other backends are tested against.
#include "core/ops/convert.h"

#include "core/ops/make.h"
#include "core/types/fp_environment.h"
#include "core/types/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace kiln::ir {
namespace {

constexpr std::int64_t kBlock = 512;

template <class T>
T read(const std::byte* from, std::int64_t i) {
  T value;
  std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(std::byte* to, std::int64_t i, T value) {
  std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <class T, class Wide>
void load_as(const std::byte* from, Wide* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Wide>(read<T>(from, i));
}

template <class T, class Wide>
void store_as(const Wide* from, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) write<T>(to, i, static_cast<T>(from[i]));
}

template <class T>
T flush(T value) {
  return std::fabs(value) < std::numeric_limits<T>::min() ? std::copysign(T(0), value) : value;
}

/// Converts to an integer: truncates toward zero, saturates; NaN gives 0.
template <class T>
T truncated(double value) {
  if (std::isnan(value)) return 0;
  // The limits as doubles: the upper one rounds up to a power of two for 64 bits.
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= low) return std::numeric_limits<T>::min();
  if (value >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class T>
void store_truncated(const double* from, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) write<T>(to, i, truncated<T>(from[i]));
}

void floating_to_integer(DType dtype, const double* from, std::byte* to, std::int64_t n) {
  switch (dtype) {
    case DType::Int8: return store_truncated<std::int8_t>(from, to, n);
    case DType::Int16: return store_truncated<std::int16_t>(from, to, n);
    case DType::Int32: return store_truncated<std::int32_t>(from, to, n);
    case DType::Int64: return store_truncated<std::int64_t>(from, to, n);
    case DType::UInt8: return store_truncated<std::uint8_t>(from, to, n);
    case DType::UInt16: return store_truncated<std::uint16_t>(from, to, n);
    case DType::UInt32: return store_truncated<std::uint32_t>(from, to, n);
    case DType::UInt64: return store_truncated<std::uint64_t>(from, to, n);
    default: return;
  }
}

template <class Wide>
void to_bool(const Wide* from, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = std::byte{from[i] != 0};
}

/// A double that rounds to a narrower float exactly as the integer would (sticky bit): bits that do
/// not fit are or-ed into the last one that does, so that no false tie arises.
double sticky_double(std::uint64_t magnitude) {
  if (magnitude < (1ull << 53)) return static_cast<double>(magnitude);
  const std::uint64_t lost = magnitude & 0x7ff;
  return static_cast<double>((magnitude >> 11) | (lost != 0 ? 1 : 0)) * 0x1p11;
}

double sticky_double(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? -sticky_double(0 - bits) : sticky_double(bits);
}

/// Stores 64-bit integers as any dtype: exact for integers, rounded once for floats.
template <class Wide>
void integer_to_any(const Wide* from, DType dtype, std::byte* to, std::int64_t n) {
  if (dtype == DType::Bool) return to_bool(from, to, n);
  if (dtype == DType::Float32) return store_as<float>(from, to, n);
  if (dtype == DType::Float64) return store_as<double>(from, to, n);
  if (is_float(dtype)) {
    double wide[kBlock];
    for (std::int64_t i = 0; i < n; ++i) wide[i] = sticky_double(from[i]);
    return store_floating(dtype, wide, to, n);
  }
  if constexpr (std::is_signed_v<Wide>) {
    store_signed(dtype, from, to, n);
  } else {
    store_unsigned(dtype, from, to, n);
  }
}

template <class Number>
using Load = void (*)(DType, const std::byte*, Number*, std::int64_t);

template <class Number, class Run>
void run_blocks(Run run, Load<Number> load, DType condition, DType dtype,
                std::span<const std::byte* const> operands, std::int64_t n,
                const std::function<void(const Number*, std::int64_t, std::int64_t)>& store) {
  Number blocks[3][kBlock];
  Number result[kBlock];
  for (std::int64_t start = 0; start < n; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    const Number* pointers[3] = {blocks[0], blocks[1], blocks[2]};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool is_condition = operands.size() == 3 && i == 0;
      const DType own = is_condition ? condition : dtype;
      const std::byte* from = operands[i] + start * static_cast<std::int64_t>(dtype_bytes(own));
      if (is_condition) {
        load_as<std::uint8_t>(from, blocks[i], count);
      } else {
        load(own, from, blocks[i], count);
      }
    }
    run(pointers, result, count);
    store(result, start, count);
  }
}

}  // namespace

double flushed(double value, DType dtype) {
  if (dtype == DType::Float32) return flush(static_cast<float>(value));
  if (dtype == DType::BFloat16) return flush(static_cast<float>(value)) == 0 ? 0 * value : value;
  return dtype == DType::Float64 ? flush(value) : value;
}

void load_floating(DType dtype, const std::byte* from, double* to, std::int64_t n) {
  switch (dtype) {
    case DType::Float32:
      for (std::int64_t i = 0; i < n; ++i) to[i] = flush(read<float>(from, i));
      return;
    case DType::Float64:
      for (std::int64_t i = 0; i < n; ++i) to[i] = flush(read<double>(from, i));
      return;
    case DType::Float16:
      for (std::int64_t i = 0; i < n; ++i) to[i] = float16_to_float(read<std::uint16_t>(from, i));
      return;
    case DType::BFloat16:
      for (std::int64_t i = 0; i < n; ++i) {
        to[i] = flush(bfloat16_to_float(read<std::uint16_t>(from, i)));
      }
      return;
    default: return;
  }
}

void load_signed(DType dtype, const std::byte* from, std::int64_t* to, std::int64_t n) {
  switch (dtype) {
    case DType::Bool:  // bytes from the host may be neither 0 nor 1
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] != std::byte{0};
      return;
    case DType::Int8: return load_as<std::int8_t>(from, to, n);
    case DType::Int16: return load_as<std::int16_t>(from, to, n);
    case DType::Int32: return load_as<std::int32_t>(from, to, n);
    case DType::Int64: return load_as<std::int64_t>(from, to, n);
    default: return;
  }
}

void load_unsigned(DType dtype, const std::byte* from, std::uint64_t* to, std::int64_t n) {
  switch (dtype) {
    case DType::UInt8: return load_as<std::uint8_t>(from, to, n);
    case DType::UInt16: return load_as<std::uint16_t>(from, to, n);
    case DType::UInt32: return load_as<std::uint32_t>(from, to, n);
    case DType::UInt64: return load_as<std::uint64_t>(from, to, n);
    default: return;
  }
}

void store_floating(DType dtype, const double* from, std::byte* to, std::int64_t n) {
  switch (dtype) {
    case DType::Float32:
      for (std::int64_t i = 0; i < n; ++i) write(to, i, flush(static_cast<float>(from[i])));
      return;
    case DType::Float64:
      for (std::int64_t i = 0; i < n; ++i) write(to, i, flush(from[i]));
      return;
    case DType::Float16:
      for (std::int64_t i = 0; i < n; ++i) write(to, i, float16_of_double(from[i]));
      return;
    case DType::BFloat16:
      for (std::int64_t i = 0; i < n; ++i) {
        write(to, i, bfloat16_of_double(flushed(from[i], dtype)));
      }
      return;
    default: return;
  }
}

void store_signed(DType dtype, const std::int64_t* from, std::byte* to, std::int64_t n) {
  switch (info(dtype).bytes) {
    case 1: return dtype == DType::Bool ? to_bool(from, to, n) : store_as<std::int8_t>(from, to, n);
    case 2: return store_as<std::int16_t>(from, to, n);
    case 4: return store_as<std::int32_t>(from, to, n);
    default: return store_as<std::int64_t>(from, to, n);
  }
}

void store_unsigned(DType dtype, const std::uint64_t* from, std::byte* to, std::int64_t n) {
  switch (info(dtype).bytes) {
    case 1:
      return dtype == DType::Bool ? to_bool(from, to, n) : store_as<std::uint8_t>(from, to, n);
    case 2: return store_as<std::uint16_t>(from, to, n);
    case 4: return store_as<std::uint32_t>(from, to, n);
    default: return store_as<std::uint64_t>(from, to, n);
  }
}

void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to,
                      std::int64_t n) {
  const ScopedFpEnvironment fp_environment;
  const auto from_size = static_cast<std::int64_t>(dtype_bytes(from_dtype));
  const auto to_size = static_cast<std::int64_t>(dtype_bytes(to_dtype));
  for (std::int64_t start = 0; start < n; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    const std::byte* source = from + start * from_size;
    std::byte* target = to + start * to_size;
    if (is_float(from_dtype)) {
      double block[kBlock];
      load_floating(from_dtype, source, block, count);
      if (is_float(to_dtype)) {
        store_floating(to_dtype, block, target, count);
      } else if (to_dtype == DType::Bool) {
        to_bool(block, target, count);
      } else {
        floating_to_integer(to_dtype, block, target, count);
      }
    } else if (info(from_dtype).kind == DTypeKind::Unsigned) {
      std::uint64_t block[kBlock];
      load_unsigned(from_dtype, source, block, count);
      integer_to_any(block, to_dtype, target, count);
    } else {
      std::int64_t block[kBlock];
      load_signed(from_dtype, source, block, count);
      integer_to_any(block, to_dtype, target, count);
    }
  }
}

std::vector<std::byte> scalar_bytes(DType dtype, double value) {
  std::vector<std::byte> bytes(dtype_bytes(dtype));
  convert_elements(DType::Float64, reinterpret_cast<const std::byte*>(&value), dtype, bytes.data(),
                   1);
  return bytes;
}

bool is_finite_in(DType dtype, double value) {
  const std::vector<std::byte> bytes = scalar_bytes(dtype, value);
  double rounded = 0;
  load_floating(dtype, bytes.data(), &rounded, 1);
  return std::isfinite(rounded);
}

std::vector<std::byte> scalar_bytes_int(DType dtype, std::int64_t value) {
  std::vector<std::byte> bytes(dtype_bytes(dtype));
  convert_elements(DType::Int64, reinterpret_cast<const std::byte*>(&value), dtype, bytes.data(),
                   1);
  return bytes;
}

std::string outside_text(DType dtype, std::int64_t index, std::int64_t size) {
  const std::string number =
      dtype == DType::UInt64 ? text(static_cast<std::uint64_t>(index)) : text(index);
  return text("index ", number, " is outside of an axis of size ", size);
}

void apply_scalar(const OpDef& d, DType operand_dtype, DType result_dtype,
                  std::span<const std::byte* const> operands, std::byte* result, std::int64_t n) {
  const auto size = static_cast<std::int64_t>(dtype_bytes(result_dtype));
  if (is_float(operand_dtype)) {
    run_blocks<double>(d.scalar.floating, load_floating, DType::Bool, operand_dtype, operands, n,
                       [&](const double* block, std::int64_t start, std::int64_t count) {
                         std::byte* to = result + start * size;
                         if (result_dtype == DType::Bool) return to_bool(block, to, count);
                         store_floating(result_dtype, block, to, count);
                       });
  } else if (info(operand_dtype).kind == DTypeKind::Unsigned) {
    run_blocks<std::uint64_t>(
        d.scalar.unsigned_integer, load_unsigned, DType::Bool, operand_dtype, operands, n,
        [&](const std::uint64_t* block, std::int64_t start, std::int64_t count) {
          store_unsigned(result_dtype, block, result + start * size, count);
        });
  } else {
    run_blocks<std::int64_t>(
        d.scalar.signed_integer, load_signed, DType::Bool, operand_dtype, operands, n,
        [&](const std::int64_t* block, std::int64_t start, std::int64_t count) {
          store_signed(result_dtype, block, result + start * size, count);
        });
  }
}

Value fold_scalar(const Node& node) {
  const OpDef& d = def(node);
  std::vector<const std::byte*> operands;
  for (const Value& operand : node.operands) {
    operands.push_back(operand.node->as<ConstantAttrs>().data.bytes->data());
  }
  const Type& type = node.types[0];
  std::vector<std::byte> bytes(dtype_bytes(type.dtype));
  const DType operand_dtype = node.operands.back().dtype();
  if (node.op == Op::Cast) {
    convert_elements(operand_dtype, operands[0], type.dtype, bytes.data(), 1);
  } else if (node.op == Op::Bitcast) {
    std::memcpy(bytes.data(), operands[0], bytes.size());
  } else {
    apply_scalar(d, operand_dtype, type.dtype, operands, bytes.data(), 1);
  }
  auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return make(Op::Constant, ConstantAttrs{type, {std::move(shared)}}, {});
}

}  // namespace kiln::ir
