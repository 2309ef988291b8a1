// Members in the order manifest, graph, weights: the first one tells the format.
#include "runtime/model/model_file.h"

#include "core/module/read.h"
#include "core/module/write.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/files/zip_stream.h"
#include "runtime/files/zip_writer.h"
#include "runtime/weights/npy.h"

#include <kiln/error.h>

namespace kiln::runtime {
namespace {

constexpr std::string_view kManifest = "manifest.json", kGraph = "graph.kirb";

/// Reads one member whole.
std::vector<std::byte> contents_of(const InputFile& file, const ZipFile& archive,
                                   std::string_view name, std::uint64_t max_bytes) {
  for (const ZipMember& member : archive.members()) {
    if (member.name != name) continue;
    if (member.bytes > max_bytes) {
      file.reject(text("has ", member.bytes, " bytes in its member ", name, "; at most ", max_bytes,
                       " are read"));
    }
    std::vector<std::byte> contents(member.bytes);
    ZipStream stream(archive, member);
    stream.read(contents);
    stream.finish();
    return contents;
  }
  file.reject(text("is no Kiln model: it has no member ", name));
}

void require_counts(const InputFile& file, const ModelFile& model) {
  const ModelNames& names = model.manifest.names;
  const module::Module& module = model.module;
  const bool agrees = names.inputs.size() == module.graph.inputs.size() &&
                      names.outputs.size() == module.graph.outputs.size() &&
                      names.variables.size() == module.state.size();
  if (!agrees) file.reject("is damaged: its manifest and its graph disagree");
}

/// The values of the variables, by their names among the weights.
std::vector<Array> values_of(const InputFile& file, const std::string& path,
                             const ModelFile& model) {
  const NpzFile weights(path, kModelWeights);
  std::vector<Array> values;
  for (std::size_t i = 0; i < model.module.state.size(); ++i) {
    const std::string& name = model.manifest.names.variables[i];
    const ir::Type& type = model.module.state[i].variable.type();
    const auto& tensors = weights.tensors();
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const TensorEntry& one) { return one.name == name; });
    const bool has_dtype = found != tensors.end() && found->other_dtype.empty();
    const bool fits = has_dtype && found->dtype == type.dtype &&
                      ir::Dims(found->dims.begin(), found->dims.end()) == type.dims;
    if (!fits) {
      file.reject(text("is damaged: its weights lack variable ", quoted_name(name), " ", type));
    }
    values.push_back(weights.read(*found));
  }
  return values;
}

}  // namespace

void write_model_file(const std::string& path, const ModelFile& model) {
  const std::string manifest = manifest_text(model.manifest);
  const module::Encoded graph = module::write_module(model.module, {.embed_constants = true});
  OutputFile file(path);
  ZipWriter archive(file);
  const std::span<const std::byte> text[] = {std::as_bytes(std::span(manifest))};
  archive.add(std::string(kManifest), text);
  const std::span<const std::byte> bytes[] = {graph.bytes};
  archive.add(std::string(kGraph), bytes);
  for (std::size_t i = 0; i < model.values.size(); ++i) {
    add_npy_member(archive, std::string(kModelWeights) + model.manifest.names.variables[i],
                   model.values[i]);
  }
  archive.finish();
  file.commit();
}

ModelFile read_model_file(const std::string& path) {
  constexpr std::uint64_t kMaxManifest = std::uint64_t{1} << 26;
  const InputFile file(path);
  const ZipFile archive(file);
  ModelFile model;
  const auto manifest = contents_of(file, archive, kManifest, kMaxManifest);
  model.manifest = read_manifest({reinterpret_cast<const char*>(manifest.data()), manifest.size()},
                                 text(path, ": ", kManifest));
  const auto graph = contents_of(file, archive, kGraph, module::kMaxModuleBytes);
  try {
    model.module = module::read_module(graph);
  } catch (const IoError& error) {
    file.reject(text("has a damaged graph: ", error.message()));
  }
  require_counts(file, model);
  model.values = values_of(file, path, model);
  return model;
}

}  // namespace kiln::runtime
