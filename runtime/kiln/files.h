// Arrays in files of other programs: NumPy's .npy and .npz, safetensors, and HDF5, as of Keras.
// kiln/weights.h loads them into variables.
#pragma once

#include <kiln/array.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln {

/// Returns the arrays of a .npz, .npy, safetensors, .h5, .keras or .kiln file by their names; the
/// file's content tells the format. The array of a .npy file has the file's name without folder and
/// ".npy". Weights of Keras are named "layer/kernel", those of Keras 3 "layer/0"; its
/// optimizers' states are left out. Other HDF5 files give all datasets by their paths. Big-endian
/// elements and Fortran order are converted; '<V2', as NumPy writes the bfloat16 of ml_dtypes, is
/// bfloat16.
/// Errors: IoError for a file that cannot be read, is damaged or of another format, which it names,
/// and for an array of a dtype that Kiln does not have, such as complex numbers, texts and objects;
/// for HDF5 also in a build of Kiln without it, and for links and datasets that lead to other
/// files; OutOfMemory. HDF5 may crash on damaged files: `kiln convert` reads it in a child process.
///     K::save_arrays("data.npz", {{"x", K::Array{1.f, 2.f}}, {"n", K::Array(3)}});
///     K::load_arrays("data.npz").at("x");  // [1. 2.]
[[nodiscard]] KILN_API std::map<std::string, Array> load_arrays(const StringArgument& path,
                                                                Where where = Where::here());

/// Writes the arrays in the format of the path's extension: .npz, .npy, .safetensors, or .h5 in the
/// layout of Keras 2, where the first part of a name is the layer. Replaces the file atomically: a
/// failure leaves an older file unchanged. The same arrays give the same bytes. A .npy file holds
/// one array, without its name.
/// Errors: ValueError for another extension, such as Keras 3's .weights.h5; for a name that is not
/// UTF-8, reserved or, in .npz and .h5, with a zero byte or of more than about 64,000 bytes, and in
/// .h5 no path, or also that of a group; and unless .npy gets one array; IoError.
///     K::save_arrays("x.npy", {{"x", K::Array({1, 2, 3, 4}, {2, 2})}});
///     K::load_arrays("x.npy").at("x");  // [[1 2] [3 4]]
KILN_API void save_arrays(const StringArgument& path, const std::map<std::string, Array>& arrays,
                          Where where = Where::here());

/// Returns the array with permuted axes: axis i of the result is axis axes[i] of `array`, as
/// NumPy's transpose. Errors: ValueError unless `axes` names each axis once.
///     K::transposed(K::Array({1, 2, 3, 4, 5, 6}, {2, 3}), {1, 0});  // [[1 4] [2 5] [3 6]]
[[nodiscard]] KILN_API Array transposed(const Array& array, const std::vector<std::int64_t>& axes,
                                        Where where = Where::here());

}  // namespace kiln
