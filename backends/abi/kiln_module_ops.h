/* The codes of the ops, and the fields of their attributes in the order of their bytes, in
 * the module format. Written by `kiln ops --header`. */
#ifndef KILN_MODULE_OPS_H
#define KILN_MODULE_OPS_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */

enum {
  KILN_OP_CONSTANT = 0, KILN_OP_PLACEHOLDER = 1, KILN_OP_VARIABLE = 2, KILN_OP_PARAMETER = 3,
  KILN_OP_IOTA = 4, KILN_OP_RANDOM_UNIFORM = 5, KILN_OP_DIM_SIZE = 6, KILN_OP_CAST = 7,
  KILN_OP_NEG = 8, KILN_OP_ABS = 9, KILN_OP_SIGN = 10, KILN_OP_FLOOR = 11, KILN_OP_ROUND = 12,
  KILN_OP_EXP = 13, KILN_OP_EXPM1 = 14, KILN_OP_LOG = 15, KILN_OP_LOG1P = 16, KILN_OP_SQRT = 17,
  KILN_OP_SIN = 18, KILN_OP_COS = 19, KILN_OP_TANH = 20, KILN_OP_SIGMOID = 21, KILN_OP_NOT = 22,
  KILN_OP_ADD = 23, KILN_OP_SUB = 24, KILN_OP_MUL = 25, KILN_OP_DIV = 26, KILN_OP_MOD = 27,
  KILN_OP_POW = 28, KILN_OP_MAXIMUM = 29, KILN_OP_MINIMUM = 30, KILN_OP_EQUAL = 31,
  KILN_OP_LESS = 32, KILN_OP_LESS_EQUAL = 33, KILN_OP_AND = 34, KILN_OP_OR = 35,
  KILN_OP_SELECT = 36, KILN_OP_SUM = 37, KILN_OP_PROD = 38, KILN_OP_MAX = 39, KILN_OP_MIN = 40,
  KILN_OP_ARG_MAX = 41, KILN_OP_CUM_SUM = 42, KILN_OP_CUM_PROD = 43, KILN_OP_RESHAPE = 44,
  KILN_OP_PERMUTE = 45, KILN_OP_BROADCAST = 46, KILN_OP_SLICE = 47, KILN_OP_PAD = 48,
  KILN_OP_REVERSE = 49, KILN_OP_CONCAT = 50, KILN_OP_GATHER = 51, KILN_OP_SCATTER_ADD = 52,
  KILN_OP_DOT = 53, KILN_OP_SCAN = 54, KILN_OP_COND = 55, KILN_OP_IDENTITY = 56,
  KILN_OP_STOP_GRADIENT = 57, KILN_OP_HOST_CALL = 58, KILN_OP_SOFTMAX = 59,
  KILN_OP_LOG_SOFTMAX = 60, KILN_OP_WINDOW = 61, KILN_OP_FOLD = 62, KILN_OP_CONV = 63,
  KILN_OP_VARIANCE = 65, KILN_OP_REQUIRE = 66, KILN_OP_SCATTER_SUB = 67,
  KILN_OP_SCALE_GRADIENT = 68, KILN_OP_ERF = 69, KILN_OP_COLLECTIVE = 70, KILN_OP_BITCAST = 71,
  KILN_OP_ATAN = 72, KILN_OP_BIT_AND = 73, KILN_OP_BIT_OR = 74, KILN_OP_BIT_XOR = 75,
  KILN_OP_ARG_SORT = 76, KILN_OP_WHILE = 77, KILN_OP_ATTENTION = 78,
  KILN_OP_ATTENTION_GRADIENT = 79
};
enum {
  KILN_CONV_ROLE_INPUT = 0, KILN_CONV_ROLE_FILTER = 1, KILN_CONV_ROLE_OUTPUT = 2
};
enum {
  KILN_REQUIRE_KIND_EQUAL = 0, KILN_REQUIRE_KIND_LESS_EQUAL = 1
};
enum {
  KILN_COLLECTIVE_KIND_ALL_REDUCE = 0, KILN_COLLECTIVE_KIND_ALL_GATHER = 1,
  KILN_COLLECTIVE_KIND_REDUCE_SCATTER = 2, KILN_COLLECTIVE_KIND_BROADCAST = 3,
  KILN_COLLECTIVE_KIND_REDUCE = 4
};
enum {
  KILN_COLLECTIVE_REDUCTION_SUM = 0, KILN_COLLECTIVE_REDUCTION_MAX = 1,
  KILN_COLLECTIVE_REDUCTION_MIN = 2
};

/* How a field is encoded; from KILN_FIELD_INTEGERS on, lists, which begin with their length. */
typedef enum kiln_field_kind {
  KILN_FIELD_INTEGER, KILN_FIELD_BOOL, KILN_FIELD_DTYPE, KILN_FIELD_TEXT, KILN_FIELD_TYPE,
  KILN_FIELD_DIM, KILN_FIELD_CONSTANT, KILN_FIELD_LAMBDA, KILN_FIELD_INTEGERS, KILN_FIELD_DIMS,
  KILN_FIELD_TYPES
} kiln_field_kind;

typedef struct kiln_field {
  const char* name; /* null after the last field */
  kiln_field_kind kind;
} kiln_field;

typedef struct kiln_op_format {
  uint64_t code;
  const char* name;
  kiln_field fields[8];
} kiln_op_format;

static const kiln_op_format kiln_op_formats[] = {
  {0, "constant", {{"type", KILN_FIELD_TYPE}, {"data", KILN_FIELD_CONSTANT}}},
  {1, "placeholder", {{"id", KILN_FIELD_INTEGER}, {"name", KILN_FIELD_TEXT},
    {"type", KILN_FIELD_TYPE}}},
  {2, "variable", {{"id", KILN_FIELD_INTEGER}, {"name", KILN_FIELD_TEXT},
    {"type", KILN_FIELD_TYPE}}},
  {3, "parameter", {{"index", KILN_FIELD_INTEGER}, {"scope", KILN_FIELD_INTEGER},
    {"type", KILN_FIELD_TYPE}}},
  {4, "iota", {{"type", KILN_FIELD_TYPE}, {"axis", KILN_FIELD_INTEGER}}},
  {5, "random_uniform", {{"type", KILN_FIELD_TYPE}, {"seed", KILN_FIELD_INTEGER},
    {"stream", KILN_FIELD_INTEGER}}},
  {6, "dim_size", {{"dim", KILN_FIELD_DIM}}},
  {7, "cast", {{"dtype", KILN_FIELD_DTYPE}}},
  {8, "neg", {{NULL, KILN_FIELD_INTEGER}}},
  {9, "abs", {{NULL, KILN_FIELD_INTEGER}}},
  {10, "sign", {{NULL, KILN_FIELD_INTEGER}}},
  {11, "floor", {{NULL, KILN_FIELD_INTEGER}}},
  {12, "round", {{NULL, KILN_FIELD_INTEGER}}},
  {13, "exp", {{NULL, KILN_FIELD_INTEGER}}},
  {14, "expm1", {{NULL, KILN_FIELD_INTEGER}}},
  {15, "log", {{NULL, KILN_FIELD_INTEGER}}},
  {16, "log1p", {{NULL, KILN_FIELD_INTEGER}}},
  {17, "sqrt", {{NULL, KILN_FIELD_INTEGER}}},
  {18, "sin", {{NULL, KILN_FIELD_INTEGER}}},
  {19, "cos", {{NULL, KILN_FIELD_INTEGER}}},
  {20, "tanh", {{NULL, KILN_FIELD_INTEGER}}},
  {21, "sigmoid", {{NULL, KILN_FIELD_INTEGER}}},
  {22, "not", {{NULL, KILN_FIELD_INTEGER}}},
  {23, "add", {{NULL, KILN_FIELD_INTEGER}}},
  {24, "sub", {{NULL, KILN_FIELD_INTEGER}}},
  {25, "mul", {{NULL, KILN_FIELD_INTEGER}}},
  {26, "div", {{NULL, KILN_FIELD_INTEGER}}},
  {27, "mod", {{NULL, KILN_FIELD_INTEGER}}},
  {28, "pow", {{NULL, KILN_FIELD_INTEGER}}},
  {29, "maximum", {{NULL, KILN_FIELD_INTEGER}}},
  {30, "minimum", {{NULL, KILN_FIELD_INTEGER}}},
  {31, "equal", {{NULL, KILN_FIELD_INTEGER}}},
  {32, "less", {{NULL, KILN_FIELD_INTEGER}}},
  {33, "less_equal", {{NULL, KILN_FIELD_INTEGER}}},
  {34, "and", {{NULL, KILN_FIELD_INTEGER}}},
  {35, "or", {{NULL, KILN_FIELD_INTEGER}}},
  {36, "select", {{NULL, KILN_FIELD_INTEGER}}},
  {37, "sum", {{"axes", KILN_FIELD_INTEGERS}}},
  {38, "prod", {{"axes", KILN_FIELD_INTEGERS}}},
  {39, "max", {{"axes", KILN_FIELD_INTEGERS}}},
  {40, "min", {{"axes", KILN_FIELD_INTEGERS}}},
  {41, "arg_max", {{"axis", KILN_FIELD_INTEGER}}},
  {42, "cum_sum", {{"axis", KILN_FIELD_INTEGER}}},
  {43, "cum_prod", {{"axis", KILN_FIELD_INTEGER}}},
  {44, "reshape", {{"dims", KILN_FIELD_DIMS}}},
  {45, "permute", {{"axes", KILN_FIELD_INTEGERS}}},
  {46, "broadcast", {{"dims", KILN_FIELD_DIMS}, {"axes", KILN_FIELD_INTEGERS}}},
  {47, "slice", {{"start", KILN_FIELD_DIMS}, {"limit", KILN_FIELD_DIMS},
    {"step", KILN_FIELD_INTEGERS}}},
  {48, "pad", {{"low", KILN_FIELD_DIMS}, {"high", KILN_FIELD_DIMS},
    {"interior", KILN_FIELD_INTEGERS}}},
  {49, "reverse", {{"axes", KILN_FIELD_INTEGERS}}},
  {50, "concat", {{"axis", KILN_FIELD_INTEGER}}},
  {51, "gather", {{"axis", KILN_FIELD_INTEGER}}},
  {52, "scatter_add", {{"axis", KILN_FIELD_INTEGER}, {"size", KILN_FIELD_DIM}}},
  {53, "dot", {{"lhs", KILN_FIELD_INTEGERS}, {"rhs", KILN_FIELD_INTEGERS},
    {"result", KILN_FIELD_INTEGERS}}},
  {54, "scan", {{"body", KILN_FIELD_LAMBDA}, {"consts", KILN_FIELD_INTEGER},
    {"carry", KILN_FIELD_INTEGER}, {"xs", KILN_FIELD_INTEGER}, {"length", KILN_FIELD_DIM},
    {"reverse", KILN_FIELD_BOOL}}},
  {55, "cond", {{"then", KILN_FIELD_LAMBDA}, {"else", KILN_FIELD_LAMBDA}}},
  {56, "identity", {{NULL, KILN_FIELD_INTEGER}}},
  {57, "stop_gradient", {{NULL, KILN_FIELD_INTEGER}}},
  {58, "host_call", {{"function", KILN_FIELD_TEXT}, {"payload", KILN_FIELD_TEXT},
    {"id", KILN_FIELD_INTEGER}, {"results", KILN_FIELD_TYPES}}},
  {59, "softmax", {{"axis", KILN_FIELD_INTEGER}}},
  {60, "log_softmax", {{"axis", KILN_FIELD_INTEGER}}},
  {61, "window", {{"axes", KILN_FIELD_INTEGERS}, {"counts", KILN_FIELD_DIMS},
    {"sizes", KILN_FIELD_DIMS}, {"strides", KILN_FIELD_INTEGERS},
    {"dilations", KILN_FIELD_INTEGERS}}},
  {62, "fold", {{"axes", KILN_FIELD_INTEGERS}, {"sizes", KILN_FIELD_DIMS},
    {"strides", KILN_FIELD_INTEGERS}, {"dilations", KILN_FIELD_INTEGERS}}},
  {63, "conv", {{"role", KILN_FIELD_INTEGER}, {"strides", KILN_FIELD_INTEGERS},
    {"dilations", KILN_FIELD_INTEGERS}, {"low", KILN_FIELD_DIMS}, {"high", KILN_FIELD_DIMS},
    {"sizes", KILN_FIELD_DIMS}, {"groups", KILN_FIELD_DIM}}},
  {65, "variance", {{"axes", KILN_FIELD_INTEGERS}}},
  {66, "require", {{"kind", KILN_FIELD_INTEGER}, {"left", KILN_FIELD_DIM},
    {"right", KILN_FIELD_DIM}, {"message", KILN_FIELD_TEXT}}},
  {67, "scatter_sub", {{NULL, KILN_FIELD_INTEGER}}},
  {68, "scale_gradient", {{NULL, KILN_FIELD_INTEGER}}},
  {69, "erf", {{NULL, KILN_FIELD_INTEGER}}},
  {70, "collective", {{"kind", KILN_FIELD_INTEGER}, {"reduction", KILN_FIELD_INTEGER},
    {"axis", KILN_FIELD_INTEGER}, {"root", KILN_FIELD_INTEGER}, {"group", KILN_FIELD_INTEGER},
    {"ranks", KILN_FIELD_INTEGER}, {"id", KILN_FIELD_INTEGER}}},
  {71, "bitcast", {{"dtype", KILN_FIELD_DTYPE}}},
  {72, "atan", {{NULL, KILN_FIELD_INTEGER}}},
  {73, "bit_and", {{NULL, KILN_FIELD_INTEGER}}},
  {74, "bit_or", {{NULL, KILN_FIELD_INTEGER}}},
  {75, "bit_xor", {{NULL, KILN_FIELD_INTEGER}}},
  {76, "arg_sort", {{"axis", KILN_FIELD_INTEGER}, {"descending", KILN_FIELD_BOOL}}},
  {77, "while", {{"body", KILN_FIELD_LAMBDA}, {"consts", KILN_FIELD_INTEGER},
    {"carry", KILN_FIELD_INTEGER}, {"xs", KILN_FIELD_INTEGER}, {"length", KILN_FIELD_DIM},
    {"reverse", KILN_FIELD_BOOL}}},
  {78, "attention", {{"divides", KILN_FIELD_BOOL}, {"causal", KILN_FIELD_BOOL}}},
  {79, "attention_gradient", {{"divides", KILN_FIELD_BOOL}, {"causal", KILN_FIELD_BOOL}}},
};

/* clang-format on */

#endif /* KILN_MODULE_OPS_H */
