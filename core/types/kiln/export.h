// Marks the symbols that libkiln.so exports; all others are compiled with hidden visibility.
#pragma once

#define KILN_API __attribute__((visibility("default")))
