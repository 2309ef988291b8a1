// kiln doctor: the backends that are found, and why one cannot be used.
#pragma once

#include <chrono>
#include <iosfwd>

namespace kiln::tool {

/// Prints each backend beside the library: name, verdict, path, options and the details of its
/// plugin's probe. Starts an instance of each with the options in force, and so its device.
/// Verdicts: "usable"; "limited: <reason>" where an instance starts but runs no programs, so that
/// `auto` does not choose it; "not usable: <reason>", with the reason of the probe or, where it
/// gives none, the error of the instance. Then prints the sections of keras.json for no backend,
/// and the backend that KERAS_BACKEND, keras.json or the default selects. Returns whether that can
/// be used.
///
/// Opens each plugin in a process of its own (doctor_process.h), since the constructors of a plugin
/// and of its libraries may end the process or never return. A backend whose process crashes, exits
/// or takes longer than `limit` is "not usable", with the last library that was opened.
bool print_backends(std::ostream& out, std::chrono::milliseconds limit);

}  // namespace kiln::tool
