// HDF5 files (.h5), and the weights of Keras 3's archives (.keras), as files of arrays.
#pragma once

#include "runtime/files/file_io.h"
#include "runtime/weights/array_file.h"
#include "runtime/weights/hdf5_reader.h"
#include "runtime/weights/keras_layout.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

class Hdf5File final : public ArrayFile {
 public:
  /// Names and order as keras_layout(). `config`: that of a .keras archive.
  Hdf5File(const std::string& path, std::unique_ptr<Hdf5Bytes> bytes,
           const std::optional<KerasConfig>& config = {});

  std::string_view format() const override { return layout_.format; }
  bool keeps_order() const override { return layout_.keeps_order; }
  bool is_numbered() const override { return layout_.is_numbered; }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  Array read(const TensorEntry& tensor) const override;

 private:
  Hdf5Reader reader_;
  KerasLayout layout_;
  std::vector<TensorEntry> tensors_;  // of the layout's weights
};

/// Whether a file has HDF5's signature, which may follow 512, 1024, ... other bytes.
bool is_hdf5(const InputFile& file);

/// Opens an HDF5 file. IoError as for Hdf5Reader and keras_layout().
std::unique_ptr<ArrayFile> open_hdf5(const std::string& path);

/// Opens the member model.weights.h5 of a .keras archive, which is read to memory; its config.json
/// names layers. IoError also for a damaged archive and for one without that member.
std::unique_ptr<ArrayFile> open_keras_archive(const std::string& path);

/// Replaces the file atomically. Its layout is that of Keras 2: a group for each first part of the
/// names, in the order of `arrays`; the same arrays give the same bytes. IoError; ValueError for a
/// name that occurs twice, is not UTF-8, has an empty part, "." or "..", more than 64,512 bytes or
/// a zero byte, for one that another begins with, and for a rank above 32. `mode`: as for
/// OutputFile.
void write_hdf5(const std::string& path, std::span<const NamedArray> arrays,
                std::optional<unsigned> mode = {});

}  // namespace kiln::runtime
