// The commands, one function each. `status`: the exit status of the program, 1 once a command finds
// what it looks for.
#pragma once

#include "tools/examples/help_format.h"

namespace kiln::tool {

/// Adds all commands, in the order of --help.
void add_commands(CLI::App& app, int& status);

void add_ops(CLI::App& app);
void add_functions(CLI::App& app);
void add_run(CLI::App& app);
/// `status`: 1 if results differ by more than the tolerance.
void add_compare(CLI::App& app, int& status);
void add_dump(CLI::App& app);
void add_graph(CLI::App& app);
void add_inspect(CLI::App& app);
void add_onnx(CLI::App& app);
void add_convert(CLI::App& app);
/// `status`: 1 if there is nothing to reduce.
void add_reduce(CLI::App& app, int& status);
void add_bench(CLI::App& app);
/// `status`: 1 if the selected backend, or the plugin that is checked, cannot be used.
/// `status`: that of the profiled program, or 1 if it called no function.
void add_profile(CLI::App& app, int& status);
/// Replaces this process by the launcher.
void add_launch(CLI::App& app);
void add_scale(CLI::App& app);
/// `status`: 1 if the selected backend cannot be used.
void add_doctor(CLI::App& app, int& status);
/// A command that only the build uses, which --help does not list.
void add_man(CLI::App& app);

}  // namespace kiln::tool
