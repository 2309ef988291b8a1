// The layout of Keras 2: root attributes `layer_names`, `backend` and `keras_version`; for each
// layer a group with `weight_names`, and datasets LAYER/WEIGHT. Keras loads such files by order.
#include "runtime/weights/hdf5_file.h"

#include "core/k/base/call.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/hdf5_library.h"
#include "runtime/weights/keras_layout.h"
#include "runtime/weights/numpy_dtype.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

namespace kiln::runtime {
namespace {

/// Bytes of an attribute, as Keras splits them: an object header holds no more than 64 KiB.
constexpr std::size_t kMaxAttribute = 64512;
constexpr std::size_t kMaxRank = 32;  // of HDF5
/// The version of the layout. Keras converts the weights of lower versions when it loads them.
constexpr const char* kKerasVersion = "2.0.0";

struct Layer {
  std::string name;
  std::vector<const NamedArray*> weights;
};

std::string_view first_part(std::string_view name) { return name.substr(0, name.find('/')); }

/// The layers in the order of their first weights.
std::vector<Layer> layers_of(std::span<const NamedArray> arrays) {
  std::vector<Layer> layers;
  std::map<std::string_view, std::size_t> numbers;
  for (const NamedArray& array : arrays) {
    const auto [entry, is_new] = numbers.emplace(first_part(array.name), layers.size());
    if (is_new) layers.push_back({std::string(entry->first), {}});
    layers[entry->second].weights.push_back(&array);
  }
  return layers;
}

/// Whether a part of the path is empty, "." or "..".
bool has_invalid_part(std::string_view path) {
  const std::vector<std::string_view> parts = path_parts(path);
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

void require_writable(std::span<const NamedArray> arrays) {
  std::set<std::string_view> names;
  for (const NamedArray& array : arrays) {
    const char* problem = array.name.size() > kMaxAttribute          ? "has more than 64512 bytes"
                          : !is_utf8(array.name)                     ? "is not UTF-8"
                          : array.name.find('\0') != array.name.npos ? "has a zero byte"
                          : has_invalid_part(array.name)     ? "has an empty part, '.' or '..'"
                          : !names.insert(array.name).second ? "occurs twice"
                                                             : nullptr;
    if (problem != nullptr) {
      Call::value_error("name", text("name ", quoted_name(array.name), " ", problem));
    }
    if (array.value.dims().size() <= kMaxRank) continue;
    Call::value_error("arrays", text("array ", quoted_name(array.name), " has rank ",
                                     array.value.dims().size(), "; HDF5 has at most ", kMaxRank));
  }
  for (const std::string_view name : names) {
    for (std::size_t end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
      if (!names.contains(name.substr(0, end))) continue;
      Call::value_error("name", text("name ", quoted_name(name.substr(0, end)),
                                     " is that of a group, of ", quoted_name(name)));
    }
  }
}

/// A file that is being written; holds hdf5_mutex.
class Hdf5Writer {
 public:
  Hdf5Writer(const std::string& path, OutputFile& output)
      : path_(path),
        output_(output),
        library_(hdf5_library(path)),
        stream_{.context = this, .bytes = 0, .read = read_bytes, .write = write_bytes},
        lock_(hdf5_mutex),
        file_(library_.create(&stream_, &error_)) {
    if (file_ == nullptr) throw_hdf5(error_, std::exchange(thrown_, nullptr), path_);
  }
  ~Hdf5Writer() { library_.close(file_); }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void add_text(const char* attribute, std::string_view value) {
    require(library_.add_text(file_, "", attribute, {value.data(), value.size()}, &error_));
  }

  /// Writes a list; one of more than kMaxAttribute bytes in attributes NAME0, NAME1, ...
  void add_list(const std::string& group, const std::string& attribute,
                const std::vector<std::string_view>& list) {
    std::size_t width = 1;
    for (const std::string_view one : list) width = std::max(width, one.size());
    const std::size_t max_count = kMaxAttribute / width;
    std::vector<kiln_hdf5_text> texts;
    for (const std::string_view one : list) texts.push_back({one.data(), one.size()});
    for (std::size_t begin = 0; begin < texts.size(); begin += max_count) {
      const std::size_t count = std::min(max_count, texts.size() - begin);
      const std::string name =
          count == texts.size() ? attribute : text(attribute, begin / max_count);
      require(library_.add_texts(file_, group.c_str(), name.c_str(), texts.data() + begin, count,
                                 &error_));
    }
  }

  void add_array(const std::string& path, const Array& value) {
    const std::string dtype = numpy_description(value.dtype());
    const kiln_hdf5_object object{.path = path.c_str(),
                                  .dtype = dtype.c_str(),
                                  .other_dtype = nullptr,
                                  .dims = value.dims().data(),
                                  .rank = value.dims().size()};
    require(library_.add_array(file_, &object, value.data(), &error_));
  }

  void finish() { require(library_.finish(file_, &error_)); }

 private:
  static bool read_bytes(void* context, std::uint64_t offset, void* to, std::size_t bytes) {
    auto& writer = *static_cast<Hdf5Writer*>(context);
    return writer.returns(
        [&] { writer.output_.read_at(offset, {static_cast<std::byte*>(to), bytes}); });
  }

  static bool write_bytes(void* context, std::uint64_t offset, const void* from,
                          std::size_t bytes) {
    auto& writer = *static_cast<Hdf5Writer*>(context);
    return writer.returns(
        [&] { writer.output_.write_at(offset, {static_cast<const std::byte*>(from), bytes}); });
  }

  /// Returns whether work() returned; stores its exception, which must not pass through HDF5.
  template <class Work>
  bool returns(const Work& work) {
    try {
      work();
      return true;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  /// Throws the error of a failed call, or of a write that failed during a successful one.
  void require(bool is_done) {
    if (is_done && !thrown_) return;
    throw_hdf5(error_, std::exchange(thrown_, nullptr), path_);
  }

  const std::string& path_;
  OutputFile& output_;
  const kiln_hdf5_api& library_;
  const kiln_hdf5_stream stream_;
  const std::lock_guard<ForkMutex> lock_;
  kiln_hdf5_error error_{};
  std::exception_ptr thrown_;
  kiln_hdf5_file* file_;
};

}  // namespace

void write_hdf5(const std::string& path, std::span<const NamedArray> arrays,
                std::optional<unsigned> mode) {
  require_writable(arrays);
  const std::vector<Layer> layers = layers_of(arrays);
  OutputFile output(path, mode);
  {
    Hdf5Writer writer(path, output);
    std::vector<std::string_view> names;
    for (const Layer& layer : layers) names.push_back(layer.name);
    writer.add_list("", kLayerNames, names);
    writer.add_text(kBackend, kKilnBackend);
    writer.add_text("keras_version", kKerasVersion);
    for (const Layer& layer : layers) {
      std::vector<std::string_view> weights;
      for (const NamedArray* weight : layer.weights) weights.push_back(weight->name);
      writer.add_list(layer.name, kWeightNames, weights);
      for (const NamedArray* weight : layer.weights) {
        writer.add_array(text(layer.name, "/", weight->name), weight->value);
      }
    }
    writer.finish();
  }
  output.commit();
}

}  // namespace kiln::runtime
