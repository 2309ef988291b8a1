// Which backend computes: choosing, loading and listing backends, and the number of threads.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>

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
