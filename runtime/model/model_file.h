// The .kiln file: a ZIP archive without compression of manifest.json, graph.kirb (the module with
// its constants) and weights/NAME.npy, which Python and unzip read, too.
#pragma once

#include "runtime/model/manifest.h"
#include "runtime/weights/array_file.h"

#include <string>
#include <vector>

namespace kiln::runtime {

/// The contents of a .kiln file.
struct ModelFile {
  Manifest manifest;
  module::Module module;
  std::vector<Array> values;  // of the variables, in the order of the module's state
};

/// Replaces the file atomically. IoError; ValueError for texts that are not UTF-8, and
/// for names and texts too long to be read.
void write_model_file(const std::string& path, const ModelFile& file);
/// Reads a .kiln file whole. IoError "<path> ..." for a damaged file, for one of another version,
/// and where manifest, graph and weights disagree.
ModelFile read_model_file(const std::string& path);

}  // namespace kiln::runtime
