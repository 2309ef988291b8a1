// The backend in use: selecting, loading and listing backends, and the number of threads.
#pragma once

#include <kiln/export.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>
#include <kiln/whole_number.h>

#include <map>
#include <string>
#include <vector>

namespace kiln {

/// The backend in use and the reason: "set_backend", "KILN_BACKEND=reference", "built-in default",
/// ...
struct BackendChoice {
  std::string name;  ///< as returned by K::backend
  std::string reason;
};

/// A backend that was found or loaded.
struct BackendDescription {
  std::string name;  ///< for set_backend; the path of a backend that was loaded by path
  std::string path;
  std::string version;  ///< empty until it is loaded
  bool loaded = false;
  std::string rejection;  ///< the reason why it cannot be used; empty if none is known
};

/// Returns the name of the backend in use, or its path if it was selected by path. A name always
/// means the file libkiln_<name>.so beside the library, regardless of the names that plugins
/// report. The first of these selects: `set_backend`, the environment variable KILN_BACKEND (empty
/// counts as unset), `"kiln": {"backend": ...}` in keras.json, the environment variable
/// KERAS_BACKEND, `backend` in keras.json, the built-in default `cpu`. A value is a name, `auto`
/// (the best usable backend), or the absolute path of a plugin. KERAS_BACKEND and `backend` are
/// shared with Python Keras, whose own engines (tensorflow, jax, torch, ...) mean the default.
/// Thread-safe, as all functions of this header.
/// Errors: BackendError if the selected backend cannot be used.
///     K::set_backend("reference");
///     K::backend();  // reference
[[nodiscard]] KILN_API std::string backend(Where where = Where::here());

/// Returns the backend in use and the reason. Errors: those of K::backend.
///     K::set_backend("reference");
///     K::backend_choice().reason;  // set_backend
[[nodiscard]] KILN_API BackendChoice backend_choice(Where where = Where::here());

/// Selects the backend for functions compiled from now on: a name, `auto`, or an absolute path.
/// Variables keep their values.
/// Errors: BackendError, and nothing changes, if it cannot be loaded.
///     K::set_backend("reference");
///     K::backend();  // reference
KILN_API void set_backend(const StringArgument& name_or_path, Where where = Where::here());

/// Loads a backend without selecting it. Returns its name for set_backend, which is the path unless
/// the file is beside the library.
/// Errors: BackendError if it cannot be loaded.
///     const std::string name = K::load_backend("reference");
///     name;  // reference
KILN_API std::string load_backend(const StringArgument& name_or_path, Where where = Where::here());

/// Sets options of a backend, named as for set_backend, for the whole process. The first of these
/// sets each option: this function, the environment variable KILN_<BACKEND>_<OPTION> such as
/// KILN_CUDA_MEMORY_LIMIT, `"kiln": {"backends": {"<backend>": {"<option>": value}}}` in
/// keras.json, the backend's default. Calls accumulate; an empty value unsets an earlier one.
/// REQUIRES: called before the first function, or value of a variable, on that backend.
/// Errors: BackendError, and nothing changes, if the backend cannot be loaded or is in use with
/// other options. The backend checks options at its first use, which throws their errors; the
/// options can then be set again.
///     K::set_backend_options("cpu", {{"isa", ""}});
///     const std::string name = K::backend();
///     name.empty();  // false
KILN_API void set_backend_options(const StringArgument& name_or_path,
                                  const std::map<std::string, std::string>& options,
                                  Where where = Where::here());

/// Lists the backends beside the library and those loaded, sorted by name.
///     const auto backends = K::list_backends();
///     backends.empty();  // false
[[nodiscard]] KILN_API std::vector<BackendDescription> list_backends();

/// Sets the number of threads of computations, from 1 to 4096. Default: the environment variable
/// KILN_THREADS, else the number of processors available to the process. Waits until running
/// parallel loops end.
/// Errors: ValueError for another count.
///     K::set_threads(2);
///     K::eval(K::constant({1., 2.}) + 1);  // [2. 3.]
KILN_API void set_threads(WholeNumber count, Where where = Where::here());

/// Returns the version of Kiln, such as "0.1.0".
///     const std::string version = K::version();
///     version.empty();  // false
[[nodiscard]] KILN_API std::string version();

}  // namespace kiln
