// The interface between libkiln.so and libkilnhdf5.so, which is linked to HDF5. Functions are C's:
// no exception crosses them. One thread calls at a time. Both are of one build, so that there is
// one version.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// The bytes of a file. Functions return whether they succeeded, and throw nothing.
struct kiln_hdf5_stream {
  void* context;
  std::uint64_t bytes;  // of the file when it is opened
  bool (*read)(void* context, std::uint64_t offset, void* to, std::size_t bytes);
  bool (*write)(void* context, std::uint64_t offset, const void* from, std::size_t bytes);
};

/// A group or a dataset. Pointers are valid until the file is closed.
struct kiln_hdf5_object {
  const char* path;   // from the root, which is "": "dense/kernel"
  const char* dtype;  // of a dataset: "<f4" as in NumPy; null for a group
  const char* other_dtype;  // of a dataset of a type that NumPy's plain dtypes lack; else null
  const std::int64_t* dims;
  std::size_t rank;
};

struct kiln_hdf5_text {
  const char* data;
  std::size_t size;
};

struct kiln_hdf5_error {
  bool is_memory;  // an allocation failed
  char message[1024];  // follows the path of the file in the text of an error
};

struct kiln_hdf5_file;

struct kiln_hdf5_api {
  /// Opens a file and checks its objects. Null for an error. REQUIRES: stream outlives the file.
  kiln_hdf5_file* (*open)(const kiln_hdf5_stream* stream, kiln_hdf5_error* error);
  /// Object 0 is the root; those of a group follow it, sorted by their names.
  std::size_t (*object_count)(const kiln_hdf5_file* file);
  void (*object)(const kiln_hdf5_file* file, std::size_t number, kiln_hdf5_object* object);
  /// Returns the texts of an attribute, which are valid until the next call; none if the object
  /// lacks it. False for an error.
  bool (*texts)(kiln_hdf5_file* file, std::size_t number, const char* attribute,
                const kiln_hdf5_text** texts, std::size_t* count, kiln_hdf5_error* error);
  /// Reads the elements of a dataset. REQUIRES: it has no `other_dtype`; `to` has room for them.
  bool (*read)(kiln_hdf5_file* file, std::size_t number, void* to, kiln_hdf5_error* error);

  /// Begins a file. Null for an error. REQUIRES: stream outlives the file.
  kiln_hdf5_file* (*create)(const kiln_hdf5_stream* stream, kiln_hdf5_error* error);
  /// Writes an attribute of the root, "", or of a group, which it creates.
  bool (*add_texts)(kiln_hdf5_file* file, const char* group, const char* attribute,
                    const kiln_hdf5_text* texts, std::size_t count, kiln_hdf5_error* error);
  /// Writes one text, not a list of one.
  bool (*add_text)(kiln_hdf5_file* file, const char* group, const char* attribute,
                   kiln_hdf5_text text, kiln_hdf5_error* error);
  /// Writes a dataset of the path, dtype and dims of `object`, and creates the groups above it.
  bool (*add_array)(kiln_hdf5_file* file, const kiln_hdf5_object* object, const void* elements,
                    kiln_hdf5_error* error);
  /// Writes the rest of a created file and ends it; only close() may follow.
  bool (*finish)(kiln_hdf5_file* file, kiln_hdf5_error* error);

  /// Accepts null.
  void (*close)(kiln_hdf5_file* file);
};

/// The one exported function, called once. `is_alone`: nothing else in the process uses HDF5; its
/// exit handler is then not installed, which prints an error after a damaged file.
[[gnu::visibility("default")]] const kiln_hdf5_api* kiln_hdf5_entry(bool is_alone);

}  // extern "C"
