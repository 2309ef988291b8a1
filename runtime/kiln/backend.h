// Which backend computes: choosing, loading and listing backends, and the number of threads.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>

#include <map>
#include <string>
#include <vector>

namespace kiln {

/// The backend in use and why it is that one ("set_backend", "KERAS_BACKEND=reference",
/// "built-in default", ...).
struct BackendChoice {
  std::string name;  ///< as K::backend gives it
  std::string reason;
};

/// A backend that was found or loaded.
struct BackendDescription {
  std::string name;     ///< what set_backend takes: the path of one that was loaded by path
  std::string path;
  std::string version;  ///< empty until it is loaded
  bool loaded = false;
  std::string refusal;  ///< why it cannot be used; empty when nothing is known against it
};

/// The name of the backend in use; the path of one that was given by path. A name always means the
/// file libkiln_<name>.so beside the library, whatever other plugins call themselves. The first of
/// these decides: `set_backend`, the environment
/// variable KERAS_BACKEND (empty counts as unset), `backend` in keras.json, the built-in default.
/// A value is a name, `auto`, or the absolute path of a plugin. Raises BackendError when what was
/// asked for cannot be used.
///     K::set_backend("reference");
///     K::backend();  // reference
KILN_API std::string backend(Where where = Where::here());

/// The backend in use, with the reason.
///     K::set_backend("reference");
///     K::backend_choice().reason;  // set_backend
KILN_API BackendChoice backend_choice(Where where = Where::here());

/// Uses another backend from now on: a name, `auto`, or an absolute path. Variables keep their
/// values. Raises BackendError, and then nothing changes.
///     K::set_backend("reference");
///     K::backend();  // reference
KILN_API void set_backend(const std::string& name_or_path, Where where = Where::here());

/// Loads a backend without using it yet and returns what set_backend takes for it: its name where
/// it is a file beside the library, else its path. Raises BackendError.
///     const std::string name = K::load_backend("reference");
///     name;  // reference
KILN_API std::string load_backend(const std::string& name_or_path,
                                  Where where = Where::here());

/// Sets options of a backend, which is named as for set_backend; the whole process uses them. The
/// first of these decides each option: this function, the environment variable
/// KILN_<BACKEND>_<OPTION> such as KILN_CUDA_MEMORY_LIMIT, `"kiln": {"backends": {"<backend>":
/// {"<option>": value}}}` in keras.json, the backend's default. Calls add up; an empty value takes
/// an earlier one back. REQUIRES: called before the first function, or value of a variable, on
/// that backend. Raises BackendError when the backend cannot be loaded, and when it is in use
/// already, unless it has these options; nothing changes then. Options that the backend rejects
/// are errors of its first use and can then be set again. Safe from any thread.
///     K::set_backend_options("cpu", {{"isa", ""}});
///     const std::string name = K::backend();
///     name.empty();  // false
KILN_API void set_backend_options(const std::string& name_or_path,
                                  const std::map<std::string, std::string>& options,
                                  Where where = Where::here());

/// The backends beside the library and those loaded, sorted by name.
///     const auto backends = K::list_backends();
///     backends.empty();  // false
KILN_API std::vector<BackendDescription> list_backends();

/// How many threads computations use, from 1 to 4096; else ValueError. Until it is called:
/// the environment variable KILN_THREADS, or as many as the process has processors.
///     K::set_threads(2);
///     K::eval(K::constant({1., 2.}) + 1);  // [2. 3.]
KILN_API void set_threads(int count, Where where = Where::here());

/// The version of Kiln, such as "0.1.0".
///     const std::string version = K::version();
///     version.empty();  // false
KILN_API std::string version();

}  // namespace kiln
