/* The layouts as a C99 compiler sees them, for the C++ test to compare. */
#ifndef KILN_TESTS_PLUGIN_LAYOUT_C99_H
#define KILN_TESTS_PLUGIN_LAYOUT_C99_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct layout_row {
  const char* struct_name;
  const char* field; /* null: the struct as a whole */
  size_t offset;
  size_t size;
};
extern const struct layout_row kLayoutsInC[];
extern const size_t kLayoutsInCCount;

#ifdef __cplusplus
}
#endif

#endif
