// Marks what libkiln.so exports. Everything else is compiled with hidden visibility.
#pragma once

#define KILN_API __attribute__((visibility("default")))
