// The functions of the interface: calls of the reader and the writer, whose exceptions become
// messages.
#include "runtime/hdf5/hdf5_interface.h"

#include "runtime/hdf5/attribute_texts.h"
#include "runtime/hdf5/handle.h"
#include "runtime/hdf5/reader.h"
#include "runtime/hdf5/stream_driver.h"
#include "runtime/hdf5/writer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>

struct kiln_hdf5_file {
  explicit kiln_hdf5_file(const kiln_hdf5_stream* stream, bool is_written)
      : state{stream, is_written}, id(kiln::hdf5::open_stream(state), H5Fclose) {}

  kiln::hdf5::StreamState state;
  kiln::hdf5::Handle id;
  std::vector<kiln::hdf5::Object> objects = {};
  std::optional<kiln::hdf5::TextReader> text_reader = {};
  std::vector<std::string> texts = {};
  std::vector<kiln_hdf5_text> views = {};  // of `texts`
};

namespace kiln::hdf5 {
namespace {

void set_error(kiln_hdf5_error* error, const char* message, bool is_memory) {
  error->is_memory = is_memory;
  const std::size_t length = std::min(std::strlen(message), sizeof error->message - 1);
  std::memcpy(error->message, message, length);
  error->message[length] = '\0';
}

/// Returns whether work() returned; sets the error if it threw, as no exception may leave the
/// library.
template <class Work>
bool run_reporting(kiln_hdf5_error* error, const Work& work) {
  try {
    const ScopedSettings settings;
    work();
    return true;
  } catch (const std::bad_alloc&) {
    set_error(error, "", true);
  } catch (const std::exception& thrown) {
    set_error(error, thrown.what(), false);
  }
  return false;
}

kiln_hdf5_file* open(const kiln_hdf5_stream* stream, kiln_hdf5_error* error) {
  std::unique_ptr<kiln_hdf5_file> file;
  const bool is_open = run_reporting(error, [&] {
    file = std::make_unique<kiln_hdf5_file>(stream, false);
    file->objects = read_objects(file->id, stream->bytes);
    file->text_reader.emplace(file->id, *stream);
  });
  if (is_open) return file.release();
  const ScopedSettings settings;
  file.reset();
  return nullptr;
}

std::size_t object_count(const kiln_hdf5_file* file) { return file->objects.size(); }

void object(const kiln_hdf5_file* file, std::size_t number, kiln_hdf5_object* described) {
  const Object& found = file->objects[number];
  *described = {.path = found.path.c_str(),
                .dtype = found.is_dataset ? found.dtype.c_str() : nullptr,
                .other_dtype = found.other_dtype.empty() ? nullptr : found.other_dtype.c_str(),
                .dims = found.dims.data(),
                .rank = found.dims.size()};
}

bool texts(kiln_hdf5_file* file, std::size_t number, const char* attribute,
           const kiln_hdf5_text** views, std::size_t* count, kiln_hdf5_error* error) {
  return run_reporting(error, [&] {
    file->texts = file->text_reader->read(file->objects[number], attribute);
    file->views.clear();
    for (const std::string& text : file->texts) file->views.push_back({text.data(), text.size()});
    *views = file->views.data();
    *count = file->views.size();
  });
}

bool read(kiln_hdf5_file* file, std::size_t number, void* to, kiln_hdf5_error* error) {
  return run_reporting(error, [&] { read_elements(file->id, file->objects[number], to); });
}

kiln_hdf5_file* create(const kiln_hdf5_stream* stream, kiln_hdf5_error* error) {
  kiln_hdf5_file* file = nullptr;
  run_reporting(error, [&] { file = std::make_unique<kiln_hdf5_file>(stream, true).release(); });
  return file;
}

bool add_texts(kiln_hdf5_file* file, const char* group, const char* attribute,
               const kiln_hdf5_text* texts, std::size_t count, kiln_hdf5_error* error) {
  return run_reporting(error,
                       [&] { write_texts(file->id, group, attribute, {texts, count}, true); });
}

bool add_text(kiln_hdf5_file* file, const char* group, const char* attribute, kiln_hdf5_text text,
              kiln_hdf5_error* error) {
  return run_reporting(error, [&] { write_texts(file->id, group, attribute, {&text, 1}, false); });
}

bool add_array(kiln_hdf5_file* file, const kiln_hdf5_object* described, const void* elements,
               kiln_hdf5_error* error) {
  return run_reporting(error, [&] { write_array(file->id, *described, elements); });
}

bool finish(kiln_hdf5_file* file, kiln_hdf5_error* error) {
  return run_reporting(error, [&] {
    checked(H5Fclose(file->id.release()));
    if (file->state.has_failed) throw Rejection("cannot be written");
  });
}

void close(kiln_hdf5_file* file) {
  const ScopedSettings settings;
  delete file;
}

constexpr kiln_hdf5_api kApi{.open = open,
                             .object_count = object_count,
                             .object = object,
                             .texts = texts,
                             .read = read,
                             .create = create,
                             .add_texts = add_texts,
                             .add_text = add_text,
                             .add_array = add_array,
                             .finish = finish,
                             .close = close};

}  // namespace
}  // namespace kiln::hdf5

const kiln_hdf5_api* kiln_hdf5_entry(bool is_alone) {
  if (is_alone) H5dont_atexit();
  return &kiln::hdf5::kApi;
}
