// Groups and datasets are of the oldest format, which every version of HDF5 reads.
#include "runtime/hdf5/writer.h"

#include "runtime/hdf5/element_type.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace kiln::hdf5 {
namespace {

/// The properties of links that create the groups above them.
hid_t link_properties() {
  Handle properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  checked(H5Pset_create_intermediate_group(properties, 1));
  return properties.release();
}

/// Opens a group, which it creates unless it exists.
hid_t open_group(hid_t file, const std::string& path) {
  if (path.empty()) return checked(H5Gopen2(file, "/", H5P_DEFAULT));
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string above = path.substr(0, end);
    if (checked(H5Lexists(file, above.c_str(), H5P_DEFAULT)) > 0) continue;
    const Handle links(link_properties(), H5Pclose);
    return checked(H5Gcreate2(file, path.c_str(), links, H5P_DEFAULT, H5P_DEFAULT));
  }
  return checked(H5Gopen2(file, path.c_str(), H5P_DEFAULT));
}

/// No texts are an empty list of float64, as Keras writes them.
void write_empty_list(hid_t group, const char* attribute) {
  const hsize_t none = 0;
  const Handle space(H5Screate_simple(1, &none, nullptr), H5Sclose);
  const Handle id(H5Acreate2(group, attribute, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT),
                  H5Aclose);
}

}  // namespace

void write_texts(hid_t file, const char* group, const char* attribute,
                 std::span<const kiln_hdf5_text> texts, bool is_list) {
  const Handle holder(open_group(file, group), H5Gclose);
  if (texts.empty()) return write_empty_list(holder, attribute);
  std::size_t width = 1;
  for (const kiln_hdf5_text& text : texts) width = std::max(width, text.size);
  std::vector<char> characters(width * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::copy_n(texts[i].data, texts[i].size, characters.data() + i * width);
  }
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  checked(H5Tset_size(type, width));
  checked(H5Tset_strpad(type, H5T_STR_NULLPAD));
  const hsize_t count = texts.size();
  const Handle space(is_list ? H5Screate_simple(1, &count, nullptr) : H5Screate(H5S_SCALAR),
                     H5Sclose);
  const Handle id(H5Acreate2(holder, attribute, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  checked(H5Awrite(id, type, characters.data()));
}

void write_array(hid_t file, const kiln_hdf5_object& object, const void* elements) {
  const std::vector<hsize_t> dims(object.dims, object.dims + object.rank);
  const Handle space(object.rank == 0
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(object.rank), dims.data(), nullptr),
                     H5Sclose);
  const Handle type(type_of(object.dtype), H5Tclose), links(link_properties(), H5Pclose);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  checked(H5Pset_obj_track_times(properties, false));
  const Handle dataset(H5Dcreate2(file, object.path, type, space, links, properties, H5P_DEFAULT),
                       H5Dclose);
  if (std::string(object.dtype) == "<V2") {
    const Handle text_type(H5Tcopy(H5T_C_S1), H5Tclose), scalar(H5Screate(H5S_SCALAR), H5Sclose);
    constexpr std::string_view kName = "bfloat16";
    checked(H5Tset_size(text_type, kName.size()));
    const Handle attribute(
        H5Acreate2(dataset, "dtype", text_type, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    checked(H5Awrite(attribute, text_type, kName.data()));
  }
  if (std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end()) return;
  checked(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements));
}

}  // namespace kiln::hdf5
