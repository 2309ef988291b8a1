/* Proves that the boundary's header is C99, and records what a C compiler makes of it. */
#include "tests/runtime/plugin/layout_c99.h"

#include "backends/abi/kiln_backend.h"
#include "tests/runtime/plugin/layout_golden.h"

#define STRUCT_ROW(type, bytes) {#type, NULL, 0, sizeof(type)},
#define FIELD_ROW(type, field, offset, bytes) \
  {#type, #field, offsetof(type, field), sizeof(((const type*)0)->field)},

const struct layout_row kLayoutsInC[] = {KILN_GOLDEN_LAYOUT(STRUCT_ROW, FIELD_ROW)};
const size_t kLayoutsInCCount = sizeof(kLayoutsInC) / sizeof(kLayoutsInC[0]);
