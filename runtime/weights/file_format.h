// Recognises files of other formats that are mistaken for weights.
#pragma once

#include <cstddef>
#include <string_view>

namespace kiln::runtime {

/// Names the format of a file by its first bytes, of which kFormatBytes suffice:
/// "a NumPy archive (.npz)". Empty for an unknown format.
std::string_view known_format(std::string_view start);

inline constexpr std::size_t kFormatBytes = 256;

// The formats that are read.
inline constexpr std::string_view kNumpyArray = "a NumPy array (.npy)";
inline constexpr std::string_view kNumpyArchive = "a NumPy archive (.npz)";
inline constexpr std::string_view kHdf5 = "an HDF5 file (.h5)";
inline constexpr std::string_view kKerasArchive = "a Keras model (.keras)";
inline constexpr std::string_view kProtobuf = "a protobuf message, such as ONNX's";
inline constexpr std::string_view kModel = "a Kiln model (.kiln)";
inline constexpr std::string_view kModelWeights = "weights/";  // the folder of its arrays
inline constexpr std::string_view kEmptyArchive = "an empty ZIP archive";
inline constexpr std::string_view kOtherArchive = "a ZIP archive";  // if its members are arrays

inline constexpr std::string_view kText = "a text, such as CSV";

}  // namespace kiln::runtime
