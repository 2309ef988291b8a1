// Support for the tests that the build makes of the pages: each begins with the settings of a new
// process, in a folder of its own.
#pragma once

#include "tests/k/functions/example.h"

#include <string>

namespace kiln::testing {

/// Collects what std::cout prints from now on, until check_output.
void begin_output();
/// Checks that it printed `expected`, in which any blanks are one; after "near ", numbers may
/// differ by 1 %, or by 0.001.
void check_output(const std::string& expected);

/// Copies the files that pages read to the current folder.
void copy_files();
void write_file(const std::string& name, const std::string& text);

/// Runs lines of sh, which find Kiln's programs; they must succeed. Checks that their output has
/// the lines of `expected` in this order, others between them, where all numbers are equal, and
/// "..." at the end of a line is any text.
void run_commands(const std::string& commands, const std::string& expected);

/// Whether the texts are equal but for blanks and small differences of numbers, as check_output
/// has them.
bool are_near(const std::string& text, const std::string& other);
/// The first line of `expected` that `text` lacks, as run_commands has it; empty: none.
std::string missing_line(const std::string& text, const std::string& expected);

}  // namespace kiln::testing
