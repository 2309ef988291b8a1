// Marks the symbols that libkiln.so exports; all others are compiled with hidden visibility.
#pragma once

#if __cplusplus < 202002L
#error "Kiln needs C++20: compile with -std=c++20"
// There is no such file, which ends the compilation: else hundreds of errors would follow.
#include "compilation without C++20"
#endif

#define KILN_API __attribute__((visibility("default")))
