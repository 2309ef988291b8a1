// Walks the groups of a file by hard links alone, so that no other file is opened, and each object
// once, so that circles end. Datasets are checked before anything is allocated for their elements.
#include "runtime/hdf5/reader.h"

#include "runtime/files/quoted_name.h"
#include "runtime/hdf5/element_type.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

namespace kiln::hdf5 {
namespace {

constexpr int kMaxDepth = 16;
/// The most bytes that deflate expands one byte to.
constexpr std::uint64_t kMaxExpansion = 1032;
constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

/// bytes * dims[0] * dims[1] ...; more than kMaxBytes where it does not fit.
std::uint64_t product(std::uint64_t bytes, const std::vector<hsize_t>& dims) {
  for (const hsize_t dim : dims) {
    if (dim == 0) return 0;
  }
  for (const hsize_t dim : dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return std::numeric_limits<std::uint64_t>::max();
  }
  return bytes;
}

/// "32000, lzf".
std::string filter_text(H5Z_filter_t filter) {
  static constexpr std::pair<H5Z_filter_t, const char*> kNames[] = {
      {H5Z_FILTER_FLETCHER32, "fletcher32"},
      {H5Z_FILTER_SZIP, "szip"},
      {H5Z_FILTER_NBIT, "nbit"},
      {H5Z_FILTER_SCALEOFFSET, "scale-offset"},
      {307, "bzip2"},
      {32000, "lzf"},
      {32001, "blosc"},
      {32004, "lz4"},
      {32008, "bitshuffle"},
      {32013, "zfp"},
      {32015, "zstd"},
      {32026, "blosc2"}};
  for (const auto& [number, name] : kNames) {
    if (number == filter) return std::to_string(filter) + ", " + name;
  }
  return std::to_string(filter);
}

class Walker {
 public:
  Walker(hid_t file, std::uint64_t bytes) : file_(file), bytes_(bytes) {}

  std::vector<Object> walk() {
    const Handle root(H5Gopen2(file_, "/", H5P_DEFAULT), H5Gclose);
    add_object(root, "", 0);
    return std::move(objects_);
  }

 private:
  /// A group whose links are being visited.
  struct Visit {
    Walker& walker;
    const std::string& path;
    int depth;
    std::exception_ptr thrown = nullptr;
  };

  static herr_t visit_link(hid_t group, const char* name, const H5L_info_t* link, void* context) {
    auto& visit = *static_cast<Visit*>(context);
    try {
      visit.walker.add_link(group, name, *link, visit);
      return 0;
    } catch (...) {
      visit.thrown = std::current_exception();
      return -1;
    }
  }

  void add_link(hid_t group, const char* name, const H5L_info_t& link, const Visit& visit) {
    const std::string path = visit.path.empty() ? name : visit.path + "/" + name;
    if (link.type != H5L_TYPE_HARD) {
      const char* const kind = link.type == H5L_TYPE_SOFT       ? "soft"
                               : link.type == H5L_TYPE_EXTERNAL ? "external"
                                                                : "user-defined";
      throw Rejection(std::string("has the ") + kind + " link " + runtime::quoted_name(path) +
                      ", which is not followed");
    }
    const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
    add_object(object, path, visit.depth + 1);
  }

  void add_object(hid_t id, const std::string& path, int depth) {
    H5O_info_t info{};
    checked(H5Oget_info2(id, &info, H5O_INFO_BASIC));
    if (!addresses_.insert(info.addr).second) {
      throw Rejection("has " + runtime::quoted_name(path) +
                      ", which is an object with another path, too");
    }
    if (info.type != H5O_TYPE_GROUP && info.type != H5O_TYPE_DATASET) return;
    Object object;
    object.path = path;
    object.address = info.addr;
    object.is_dataset = info.type == H5O_TYPE_DATASET;
    if (object.is_dataset) describe_dataset(id, object);
    objects_.push_back(std::move(object));
    if (info.type == H5O_TYPE_GROUP) add_links(id, path, depth);
  }

  void add_links(hid_t group, const std::string& path, int depth) {
    if (depth > kMaxDepth)
      throw Rejection("has groups nested more than " + std::to_string(kMaxDepth) + " deep");
    Visit visit{*this, path, depth};
    hsize_t next = 0;
    const herr_t status = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &next, visit_link, &visit);
    if (visit.thrown) std::rethrow_exception(visit.thrown);
    checked(status);
  }

  void describe_dataset(hid_t id, Object& object) {
    const Handle properties(H5Dget_create_plist(id), H5Pclose);
    require_stored_here(properties, object);
    const Handle type(H5Dget_type(id), H5Tclose);
    const ElementType element = element_type(type);
    object.dtype = element.dtype;
    object.other_dtype = element.other;
    const Handle space(H5Dget_space(id), H5Sclose);
    std::vector<hsize_t> dims(static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space))));
    checked(H5Sget_simple_extent_dims(space, dims.data(), nullptr));
    object.bytes = product(H5Tget_size(type), dims);
    if (H5Sget_simple_extent_type(space) == H5S_NULL) {
      object.dtype.clear();
      object.other_dtype = "nothing";
      object.bytes = 0;
    }
    require_held(id, properties, H5Tget_size(type), object);
    object.dims.assign(dims.begin(), dims.end());
  }

  static void require_stored_here(hid_t properties, const Object& object) {
    const std::string dataset = runtime::quoted_name(object.path);
    if (H5Pget_layout(properties) == H5D_VIRTUAL) {
      throw Rejection("has the virtual dataset " + dataset + ", which is not read");
    }
    if (checked(H5Pget_external_count(properties)) > 0) {
      throw Rejection("has the dataset " + dataset + " in other files, which are not read");
    }
    const int filters = checked(H5Pget_nfilters(properties));
    for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
      unsigned flags = 0, configuration = 0;
      std::size_t values = 0;
      const H5Z_filter_t filter = checked(
          H5Pget_filter2(properties, i, &flags, &values, nullptr, 0, nullptr, &configuration));
      if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE) continue;
      throw Rejection("has the dataset " + dataset + " with filter " + filter_text(filter) +
                      "; 1, deflate, and 2, shuffle, are read");
    }
  }

  /// Rejects a dataset whose elements, or one of its chunks, cannot be in what it stores.
  void require_held(hid_t id, hid_t properties, std::size_t element_bytes, const Object& object) {
    std::uint64_t declared = object.bytes;
    if (object.bytes != 0 && H5Pget_layout(properties) == H5D_CHUNKED) {
      std::vector<hsize_t> chunk(H5S_MAX_RANK);
      const int rank = checked(H5Pget_chunk(properties, H5S_MAX_RANK, chunk.data()));
      chunk.resize(static_cast<std::size_t>(rank));
      declared = std::max(declared, product(element_bytes, chunk));
    }
    const std::uint64_t stored = H5Dget_storage_size(id);
    const std::string dataset = runtime::quoted_name(object.path);
    if (declared > kMaxBytes) {
      throw Rejection("is damaged: dataset " + dataset + " declares 2^63 bytes or more");
    }
    if (stored > bytes_ - stored_) {
      throw Rejection("is damaged: dataset " + dataset +
                      " and those before it store more bytes than the file has");
    }
    stored_ += stored;
    if (declared / kMaxExpansion <= stored && (stored > 0 || declared == 0)) return;
    if (stored == 0) {
      throw Rejection("has the dataset " + dataset + " of " + std::to_string(declared) +
                      " bytes, none of which were written");
    }
    throw Rejection("is damaged: dataset " + dataset + " declares " + std::to_string(declared) +
                    " bytes but stores " + std::to_string(stored));
  }

  hid_t file_;
  std::uint64_t bytes_, stored_ = 0;
  std::unordered_set<haddr_t> addresses_;
  std::vector<Object> objects_;
};

}  // namespace

std::vector<Object> read_objects(hid_t file, std::uint64_t bytes) {
  return Walker(file, bytes).walk();
}

void read_elements(hid_t file, const Object& object, void* to) {
  if (object.bytes == 0) return;
  const Handle dataset(H5Oopen_by_addr(file, object.address), H5Oclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  checked(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to));
}

}  // namespace kiln::hdf5
