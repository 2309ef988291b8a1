/* Reads the numbers, texts, dims and types of Kiln's module format. kiln_module_reader.h reads the
 * module.
 *
 * The bytes are not trusted: no read leaves them. A cursor that fails gives 0 from then on, so that
 * loops over counts end; its `error` is tested once, after the last read. Reads check no more than
 * that: numbers of nodes, types and constants are the caller's to compare with its tables. */
#ifndef KILN_MODULE_CURSOR_H
#define KILN_MODULE_CURSOR_H

#include "kiln_module_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dim whose value is unknown or beyond 64 bits. */
#define KILN_DIM_UNKNOWN INT64_MIN

typedef struct kiln_cursor {
  const unsigned char* at;
  const unsigned char* end;
  const char* error; /* of the first failure; null: none */
} kiln_cursor;

/* A text, UTF-8 without a zero at its end, or other bytes. Points into the module. */
typedef struct kiln_module_bytes {
  const char* data;
  uint64_t size;
} kiln_module_bytes;

static inline uint64_t kiln_fail(kiln_cursor* from, const char* error) {
  if (from->error == NULL) from->error = error;
  from->at = from->end;
  return 0;
}

static inline uint64_t kiln_bytes_left(const kiln_cursor* from) {
  return (uint64_t)(from->end - from->at);
}

static inline uint64_t kiln_read_number(kiln_cursor* from) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (from->at == from->end) return kiln_fail(from, "the bytes end early");
    const uint64_t byte = *from->at++;
    if (shift == 63 && byte > 1) break; /* the tenth byte holds the last of 64 bits */
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return kiln_fail(from, "a number is too long");
}

/* Also for enumerations and ids. */
static inline int64_t kiln_read_integer(kiln_cursor* from) {
  const uint64_t bits = kiln_read_number(from);
  return (int64_t)((bits >> 1) ^ (~(bits & 1) + 1));
}

/* The length of a list, whose items follow; each has at least one byte. */
static inline uint64_t kiln_read_count(kiln_cursor* from) {
  const uint64_t count = kiln_read_number(from);
  return count <= kiln_bytes_left(from) ? count : kiln_fail(from, "a count exceeds the bytes");
}

static inline kiln_module_bytes kiln_read_bytes(kiln_cursor* from) {
  kiln_module_bytes bytes;
  bytes.size = kiln_read_count(from);
  bytes.data = (const char*)from->at;
  from->at += bytes.size;
  return bytes;
}

/* The part that follows, which begins with its length in bytes. */
static inline kiln_cursor kiln_read_part(kiln_cursor* from) {
  kiln_cursor part;
  const uint64_t size = kiln_read_count(from);
  part.at = from->at;
  part.end = from->at += size;
  part.error = from->error;
  return part;
}

static inline void kiln_skip_numbers(kiln_cursor* from, uint64_t count) {
  for (uint64_t i = 0; i < count && from->error == NULL; ++i) kiln_read_number(from);
}

/* ---- Dims and types ---- */

/* The values of the module's symbols and of its operations of dims, by their numbers. */
typedef struct kiln_dim_values {
  const int64_t* symbols;
  uint64_t symbol_count;
  const int64_t* operations;
  uint64_t operation_count;
} kiln_dim_values;

/* Reads a dim: its value, or KILN_DIM_UNKNOWN where a value that it depends on is unknown. Null:
 * none is known. */
static inline int64_t kiln_read_dim(kiln_cursor* from, const kiln_dim_values* values) {
  int64_t sum = kiln_read_integer(from);
  int is_known = 1;
  const uint64_t terms = kiln_read_count(from);
  for (uint64_t t = 0; t < terms; ++t) {
    int64_t product = kiln_read_integer(from);
    int overflows = 0; /* unless a later factor is 0 */
    const uint64_t factors = kiln_read_count(from);
    for (uint64_t f = 0; f < factors; ++f) {
      const uint64_t kind = kiln_read_number(from), number = kiln_read_number(from);
      int64_t factor = KILN_DIM_UNKNOWN;
      if (kind > 1) kiln_fail(from, "a dim has a factor of unknown kind");
      if (values != NULL) {
        if (number >= (kind == 0 ? values->symbol_count : values->operation_count)) {
          kiln_fail(from, "a dim has a factor that is not in the tables");
        } else {
          factor = (kind == 0 ? values->symbols : values->operations)[number];
        }
      }
      if (from->error != NULL) return KILN_DIM_UNKNOWN;
      if (factor == KILN_DIM_UNKNOWN) is_known = 0;
      if (factor == 0) overflows = 0;
      if (factor == 0 || overflows) {
        product = 0;
      } else if (__builtin_mul_overflow(product, factor, &product)) {
        product = 0;
        overflows = 1;
      }
    }
    if (overflows || __builtin_add_overflow(sum, product, &sum)) is_known = 0;
  }
  return is_known && from->error == NULL ? sum : KILN_DIM_UNKNOWN;
}

/* An element type, KILN_DTYPE_... of kiln_backend.h, and `rank` dims. */
typedef struct kiln_module_type {
  uint64_t dtype;
  uint64_t rank;
  kiln_cursor dims; /* for kiln_read_dim */
} kiln_module_type;

static inline kiln_module_type kiln_read_type(kiln_cursor* from) {
  kiln_module_type type;
  type.dtype = kiln_read_number(from);
  type.rank = kiln_read_count(from);
  type.dims = *from;
  for (uint64_t i = 0; i < type.rank; ++i) kiln_read_dim(from, NULL);
  type.dims.end = from->at;
  if (from->error != NULL) kiln_fail(&type.dims, from->error);
  return type;
}

/* Sets the values of the symbols that are dims of a type, as those of inputs are, from `sizes`,
 * one per dim. Values before that are KILN_DIM_UNKNOWN. */
static inline void kiln_bind_symbols(kiln_module_type type, const int64_t* sizes, int64_t* symbols,
                                     uint64_t symbol_count) {
  for (uint64_t i = 0; i < type.rank; ++i) {
    kiln_cursor dim = type.dims;
    kiln_read_dim(&type.dims, NULL);
    const int is_symbol = kiln_read_integer(&dim) == 0 && kiln_read_number(&dim) == 1 &&
                          kiln_read_integer(&dim) == 1 && kiln_read_number(&dim) == 1 &&
                          kiln_read_number(&dim) == 0;
    const uint64_t number = kiln_read_number(&dim);
    if (is_symbol && dim.error == NULL && number < symbol_count) symbols[number] = sizes[i];
  }
}

/* ---- Attributes and operands ---- */

/* Result `result` of a node of the same region. */
typedef struct kiln_module_value {
  uint64_t node;
  uint64_t result;
} kiln_module_value;

static inline kiln_module_value kiln_read_value(kiln_cursor* from) {
  kiln_module_value value;
  value.node = kiln_read_number(from);
  value.result = kiln_read_number(from);
  return value;
}

/* The elements of a Constant, row-major: `bytes`, or, if is_beside, the constant with the index
 * among those of kiln_compile_args, in a file those of kiln_module. */
typedef struct kiln_constant_data {
  int is_beside;
  uint64_t index;
  kiln_module_bytes bytes;
} kiln_constant_data;

static inline kiln_constant_data kiln_read_constant(kiln_cursor* from) {
  kiln_constant_data data = {0, 0, {NULL, 0}};
  data.is_beside = kiln_read_number(from) != 0;
  if (data.is_beside) data.index = kiln_read_number(from);
  else data.bytes = kiln_read_bytes(from);
  return data;
}

/* Skips a field of an attribute list. */
static inline void kiln_skip_field(kiln_cursor* from, kiln_field_kind kind) {
  uint64_t count = 1;
  if (kind >= KILN_FIELD_INTEGERS) count = kiln_read_count(from);
  for (uint64_t i = 0; i < count; ++i) {
    switch (kind) {
      case KILN_FIELD_INTEGER:
      case KILN_FIELD_INTEGERS:
      case KILN_FIELD_BOOL:
      case KILN_FIELD_DTYPE: kiln_read_number(from); break;
      case KILN_FIELD_TEXT: kiln_read_bytes(from); break;
      case KILN_FIELD_TYPE:
      case KILN_FIELD_TYPES: kiln_read_type(from); break;
      case KILN_FIELD_DIM:
      case KILN_FIELD_DIMS: kiln_read_dim(from, NULL); break;
      case KILN_FIELD_CONSTANT: kiln_read_constant(from); break;
      case KILN_FIELD_LAMBDA: kiln_read_part(from); break;
    }
  }
}

#ifdef __cplusplus
}
#endif

#endif /* KILN_MODULE_CURSOR_H */
