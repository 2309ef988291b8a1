// Writes the arrays or the model of a file in another format.
#include "core/k/base/call.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/weights/array_formats.h"
#include "runtime/weights/file_format.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/isolated_file.h"

#include <kiln/error.h>
#include <kiln/model.h>

#include <iostream>
#include <memory>

namespace kiln::tool {
namespace {

void require_known_extension(const std::string& path) {
  const std::string unknown = runtime::unknown_extension_text(path);
  if (!unknown.empty()) throw ValueError("kiln convert", "OUT", unknown);
}

/// Rejects a file that may be an ONNX model, whose weights are arrays of a .kiln file only.
void require_arrays(const std::string& path) {
  const auto format = runtime::known_format(runtime::first_bytes(runtime::InputFile(path)));
  if (format != runtime::kProtobuf) return;
  throw ValueError("kiln convert", "IN",
                   text(path, " is ", format,
                        "; an ONNX model becomes a .kiln file, whose arrays convert to others"));
}

/// Writes an ONNX model, a module or a model of Kiln as a model of Kiln.
void convert_model(const std::string& from, const std::string& weights, const std::string& to) {
  if (!weights.empty()) isolate_hdf5(weights);
  api_call("kiln convert", {}, [&] { save_model(to, load_model(from, {.weights = weights})); });
  std::cout << "the model is in " << to << "\n";
}

void convert(const std::string& from, const std::string& weights, const std::string& to) {
  if (to.ends_with(".kiln")) return convert_model(from, weights, to);
  if (!weights.empty()) {
    throw ValueError("kiln convert", "--weights",
                     "--weights is for a module that becomes a .kiln file");
  }
  require_known_extension(to);
  require_arrays(from);
  isolate_hdf5(from);
  std::map<std::string, std::string> metadata;
  const auto file = runtime::open_array_file(from, &metadata);
  std::vector<runtime::NamedArray> arrays;
  for (const runtime::TensorEntry& tensor : file->tensors()) {
    if (!tensor.other_dtype.empty()) {
      throw ValueError("kiln convert", "IN", runtime::other_dtype_text(tensor, from));
    }
    arrays.push_back({tensor.name, file->read(tensor)});
  }
  const bool keeps_metadata = to.ends_with(".safetensors");
  if (!keeps_metadata && !metadata.empty()) {
    std::cerr << "note: left out: the metadata of " << from << "\n";
  }
  runtime::write_array_file(to, arrays,
                            keeps_metadata ? metadata : std::map<std::string, std::string>());
  std::cout << counted(arrays.size(), "array") << " in " << to << "\n";
}

}  // namespace

void add_convert(CLI::App& app) {
  const auto from = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  const auto weights = std::make_shared<std::string>();
  CLI::App* command = add_command(app, "convert", "Write arrays or a model in another format",
                                  "kiln convert weights.h5 weights.safetensors\n"
                                  "  kiln convert net.onnx net.kiln");
  command
      ->add_option("IN", *from,
                   "a .npz, .npy, safetensors, .h5 or .keras file, or a model (.onnx, .kiln, "
                   ".kir), by its content")
      ->required();
  command
      ->add_option("OUT", *to,
                   "file to write: .npz, .npy (one array), .safetensors or .h5, or .kiln for a "
                   "model")
      ->required();
  command->add_option("--weights", *weights, "file with the values of a module's variables")
      ->type_name("FILE");
  command->callback([from, weights, to] { convert(*from, *weights, *to); });
}

}  // namespace kiln::tool
