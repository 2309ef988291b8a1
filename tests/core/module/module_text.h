/* The text of a module, as the C reader of the SDK reads it and as Kiln does. */
#ifndef KILN_TESTS_MODULE_TEXT_H
#define KILN_TESTS_MODULE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of the symbols with this name. */
int64_t module_text_symbol(const char* name, uint64_t size);

/* Reads everything in the module: a text to be freed, or null and the reason in *error. */
char* module_text_in_c(const void* bytes, size_t size, const char** error);

#ifdef __cplusplus
}

#include "core/module/module.h"

#include <string>

namespace kiln::test {

/// The same text from a module that Kiln has.
std::string module_text(const module::Module& module);

/// The error of the C reader, which prints a copy of the bytes; "" for none.
std::string error_of_c_reader(const std::vector<std::byte>& bytes);
/// Writes the module and compares both texts of its bytes: the difference, or "".
std::string difference_of_readers(const module::Module& module);

}  // namespace kiln::test
#endif

#endif
