// The formats of files of arrays: recognised by their first bytes when they are read, by their
// names' extension when they are written.
#pragma once

#include "runtime/weights/array_file.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace kiln::runtime {

/// Whether the file begins as one of those formats does, or is named as HDF5 files are. IoError for
/// one that cannot be read.
bool is_array_file(const std::string& path);

/// Whether HDF5 reads the file: an HDF5 file or a .keras archive. IoError as above.
bool is_hdf5_file(const std::string& path);

/// Opens a .safetensors, .npy, .npz, .h5 or .keras file. Adds the texts that a safetensors file has
/// to `metadata`, unless null. IoError "<path> ..." for a file that cannot be read, has another
/// format, which it names, or is damaged; OutOfMemory.
std::unique_ptr<ArrayFile> open_array_file(const std::string& path,
                                           std::map<std::string, std::string>* metadata = nullptr);

/// "float32[2,3]"; with the name that the format gives to a dtype that Kiln lacks.
std::string type_text(const TensorEntry& tensor);

/// "array 'x' of FILE is of dtype '|O', which Kiln does not have".
std::string other_dtype_text(const TensorEntry& tensor, const std::string& path);

/// The reason why a file of Keras 3 (.weights.h5, .keras) is not written; empty for other paths.
/// Its layouts contain the classes of layers, which variables do not have.
std::string keras3_rejection(const std::string& path);

/// Empty if arrays can be written to a path of that extension: .npz, .npy, .h5, .hdf5 or
/// .safetensors. Else the text of the error:
/// "FILE ends in '.csv'; .npz, .npy, .h5 and .safetensors are written", or keras3_rejection().
std::string unknown_extension_text(const std::string& path);

/// Replaces the file atomically, in the format of its extension: .npz, .npy with one array, .h5 or
/// .hdf5, and safetensors for any other. Throws as write_safetensors; ValueError for .npy of
/// another number of arrays, for metadata in another format than safetensors, and for .weights.h5
/// and .keras, whose layouts are those of Keras 3. `mode`: as for OutputFile.
void write_array_file(const std::string& path, std::span<const NamedArray> arrays,
                      const std::map<std::string, std::string>& metadata = {},
                      std::optional<unsigned> mode = {});

}  // namespace kiln::runtime
