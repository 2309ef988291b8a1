// Names the formats of files by their first bytes: those that are read, and those that are mistaken
// for them.
#pragma once

#include "runtime/files/file_io.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// The number of first bytes that tell a format.
inline constexpr std::size_t kFormatBytes = 256;

/// The first kFormatBytes of a file, or all of a shorter one. IoError.
std::string first_bytes(const InputFile& file);

/// Names the format of a file that begins with `start`: "a NumPy archive (.npz)". Empty for an
/// unknown format.
std::string_view known_format(std::string_view start);

// The formats that are read, as known_format() names them.
inline constexpr std::string_view kNumpyArray = "a NumPy array (.npy)";
inline constexpr std::string_view kNumpyArchive = "a NumPy archive (.npz)";
inline constexpr std::string_view kHdf5 = "an HDF5 file (.h5)";
inline constexpr std::string_view kKerasArchive = "a Keras model (.keras)";
inline constexpr std::string_view kProtobuf = "a protobuf message, such as ONNX's";
inline constexpr std::string_view kModel = "a Kiln model (.kiln)";
inline constexpr std::string_view kEmptyArchive = "an empty ZIP archive";
inline constexpr std::string_view kOtherArchive = "a ZIP archive";  // if its members are arrays
inline constexpr std::string_view kText = "a text, such as CSV";  // if it is a module

/// The folder of the arrays in a Kiln model.
inline constexpr std::string_view kModelWeights = "weights/";

}  // namespace kiln::runtime
