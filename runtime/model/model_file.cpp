// Members in the order manifest, graph, weights: the first one tells the format.
#include "runtime/model/model_file.h"

#include "core/k/base/call.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/files/zip_stream.h"
#include "runtime/files/zip_writer.h"
#include "runtime/model/variable_values.h"
#include "runtime/weights/npy.h"

#include <kiln/error.h>

namespace kiln::runtime {
namespace {

constexpr std::string_view kManifest = "manifest.json", kGraph = "graph.kirb";
constexpr std::uint64_t kMaxManifest = std::uint64_t{1} << 26;

/// Rejects a part that read_model_file() would reject.
void require_readable(const char* part, std::uint64_t bytes, std::uint64_t max_bytes) {
  if (bytes <= max_bytes) return;
  Call::value_error(
      "path", text("the ", part, " has ", bytes, " bytes; at most ", max_bytes, " are written"));
}

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

/// Rejects a manifest that does not name each input, output and variable of the graph.
void require_counts(const InputFile& file, const ModelFile& model) {
  const ModelNames& names = model.manifest.names;
  const module::Module& module = model.module;
  const auto require = [&](const char* noun, std::size_t named, std::size_t count) {
    if (named == count) return;
    file.reject(text("is damaged: its manifest names ", counted(named, noun),
                     ", but its graph has ", count));
  };
  require("input", names.inputs.size(), module.graph.inputs.size());
  require("output", names.outputs.size(), module.graph.outputs.size());
  require("variable", names.variables.size(), module.state.size());
}

/// The values of the variables, which the weights have under their names.
std::vector<Array> values_of(const InputFile& file, const std::string& path,
                             const ModelFile& model) {
  const NpzFile weights(path, kModelWeights);
  const VariableValues stored(weights);
  std::vector<Array> values;
  for (std::size_t i = 0; i < model.module.state.size(); ++i) {
    const std::string& name = model.manifest.names.variables[i];
    const ir::Type& type = model.module.state[i].variable.type();
    const std::string reason = stored.rejection(name, type, "its weights");
    if (!reason.empty()) {
      file.reject(text("is damaged: variable ", quoted_name(name), " ", type, " ", reason));
    }
    values.push_back(stored.read(name));
  }
  return values;
}

}  // namespace

void write_model_file(const std::string& path, const ModelFile& model) {
  require_member_names(model.manifest.names.variables, kModelWeights);
  const std::string manifest = manifest_text(model.manifest);
  const module::Encoded graph = module::write_module(model.module, {.embed_constants = true});
  require_readable("manifest", manifest.size(), kMaxManifest);
  require_readable("graph", graph.bytes.size(), module::kMaxModuleBytes);
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
