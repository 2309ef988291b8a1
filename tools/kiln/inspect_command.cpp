// kiln inspect: prints the contents of a file of arrays, a module or a model.
#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/types/counted.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/model/model_file.h"
#include "runtime/replay/argument_names.h"
#include "runtime/replay/module_file.h"
#include "runtime/weights/array_formats.h"
#include "runtime/weights/file_format.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/isolated_file.h"
#include "tools/kiln/onnx_file.h"
#include "tools/kiln/program_file.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

namespace kiln::tool {
namespace {

using runtime::TensorEntry;

/// A name and the text of a type: "float32[2,3]".
using Named = std::vector<std::pair<std::string, std::string>>;

/// The contents of a file; lists that its format lacks are empty.
struct Contents {
  std::string format;
  Named tensors, inputs, variables, outputs;
  std::map<std::string, std::size_t> ops;  // counts by name, those of loops and branches included
  std::map<std::string, std::string> metadata;
};

void count_ops(std::span<const ir::Value> roots, std::map<std::string, std::size_t>& ops) {
  for (const ir::Node* node : ir::topological_order(roots)) {
    ++ops[std::string(def(*node).name)];
    ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) { count_ops(lambda.results, ops); });
  }
}

/// The ops of the outputs, to which a module gives no names.
std::vector<std::string> output_ops(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Value& output : graph.outputs) names.emplace_back(def(*output.node).name);
  return names;
}

/// `outputs`: the names that the outputs are shown with.
Contents contents_of_module(const module::Module& module, const std::vector<std::string>& outputs) {
  const ir::Graph& graph = module.graph;
  const std::vector<std::string> names = runtime::argument_names(graph.inputs, module.state);
  Contents contents;
  contents.format = "module of Kiln";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    contents.inputs.emplace_back(names[i], text(graph.inputs[i].type()));
  }
  for (std::size_t i = 0; i < module.state.size(); ++i) {
    contents.variables.emplace_back(names[graph.inputs.size() + i],
                                    text(module.state[i].variable.type()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    contents.outputs.emplace_back(outputs[i], text(graph.outputs[i].type()));
  }
  count_ops(graph.roots(), contents.ops);
  return contents;
}

Contents contents_of_model(const std::string& path) {
  const runtime::ModelFile file = runtime::read_model_file(path);
  Contents contents = contents_of_module(file.module, file.manifest.names.outputs);
  contents.format = "model of Kiln (.kiln)";
  contents.metadata = file.manifest.metadata;
  return contents;
}

Contents contents_of_onnx(const std::string& path) {
  const OnnxFile file(path);
  return {.format = file.format(),
          .tensors = file.initializers(),
          .inputs = file.inputs(),
          .variables = {},
          .outputs = file.outputs(),
          .ops = file.operators(),
          .metadata = file.metadata()};
}

Contents contents_of(const std::string& path) {
  if (is_model_file(path)) return contents_of_model(path);
  if (runtime::is_array_file(path)) {
    Contents contents;
    const auto file = runtime::open_array_file(path, &contents.metadata);
    contents.format = file->format();
    for (const TensorEntry& tensor : file->tensors()) {
      contents.tensors.emplace_back(tensor.name, runtime::type_text(tensor));
    }
    return contents;
  }
  if (is_onnx_file(path)) return contents_of_onnx(path);
  const module::Module module = runtime::read_module_file(path);
  return contents_of_module(module, output_ops(module.graph));
}

void print(const char* noun, const Named& list) {
  if (list.empty()) return;
  std::cout << counted(list.size(), noun) << "\n";
  for (const auto& [name, type] : list) {
    std::cout << "  " << escaped_text(name) << " " << escaped_text(type) << "\n";
  }
}

void print_text(const Contents& contents) {
  std::cout << contents.format << "\n";
  print("tensor", contents.tensors);
  print("input", contents.inputs);
  print("variable", contents.variables);
  print("output", contents.outputs);
  if (!contents.ops.empty()) std::cout << counted(contents.ops.size(), "op") << "\n";
  for (const auto& [name, count] : contents.ops) std::cout << "  " << name << " " << count << "\n";
  if (!contents.metadata.empty()) std::cout << "metadata\n";
  for (const auto& [key, value] : contents.metadata) {
    std::cout << "  " << escaped_text(key) << ": " << escaped_text(value) << "\n";
  }
}

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void write(Writer& json, const std::string& text) {
  const std::string shown = utf8_text(text);
  json.String(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
}

void write(Writer& json, const char* key, const Named& list) {
  json.Key(key);
  json.StartArray();
  for (const auto& [name, type] : list) {
    json.StartObject();
    json.Key("name");
    write(json, name);
    json.Key("type");
    write(json, type);
    json.EndObject();
  }
  json.EndArray();
}

void print_json(const Contents& contents) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  json.Key("format");
  write(json, contents.format);
  write(json, "tensors", contents.tensors);
  write(json, "inputs", contents.inputs);
  write(json, "variables", contents.variables);
  write(json, "outputs", contents.outputs);
  json.Key("ops");
  json.StartObject();
  for (const auto& [name, count] : contents.ops) {
    json.Key(name.c_str());
    json.Uint64(count);
  }
  json.EndObject();
  json.Key("metadata");
  json.StartObject();
  for (const auto& [key, value] : contents.metadata) {
    const std::string shown = utf8_text(key);
    json.Key(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
    write(json, value);
  }
  json.EndObject();
  json.EndObject();
  std::cout << buffer.GetString() << "\n";
}

}  // namespace

void add_inspect(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* command =
      add_command(app, "inspect", "Print what a file of arrays, a module or a model has",
                  "kiln inspect weights.npz\n  kiln inspect train/00-user.kir --json");
  command
      ->add_option("FILE", *file,
                   "a .npz, .npy, safetensors, .h5 or .keras file, a module, a model (.kiln) or an "
                   "ONNX model")
      ->required();
  command->add_flag("--json", *as_json, "print as JSON");
  command->callback([file, as_json] {
    isolate_hdf5(*file);
    const Contents contents = contents_of(*file);
    *as_json ? print_json(contents) : print_text(contents);
  });
}

}  // namespace kiln::tool
