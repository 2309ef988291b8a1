// Falls back to the name of the op where a node has no K function.
#include "backends/codegen/inspect/source.h"

#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::size_t kNameWords = 4;
constexpr std::size_t kMaxSources = 8;

/// A name that may be part of an identifier; for operators such as "+", the name of the op.
std::string name_of(const ir::Node& node) {
  const ir::Origin& origin = node.origin;
  const std::string_view function = origin.function;
  const bool plain =
      !function.empty() && std::all_of(function.begin(), function.end(), [](const char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  std::string name(plain ? function : def(node.op).name);
  if (origin.where.known()) name += text("_line", origin.where.line);
  return name;
}

void add_new(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

}  // namespace

std::string source_of(const ir::Node& node) {
  const ir::Origin& origin = node.origin;
  const bool named = *origin.function != '\0';
  const std::string name = named ? origin.function : std::string(ir::def(node.op).name);
  if (!origin.where.known()) return name;
  return text(name, " at ", origin.where.file, ":", origin.where.line);
}

KernelTitle kernel_title(const std::vector<const ir::Node*>& nodes, int number) {
  std::vector<std::string> words, sources;
  for (const ir::Node* node : nodes) {
    add_new(words, name_of(*node));
    if (node->origin.where.known()) add_new(sources, source_of(*node));
  }
  KernelTitle title{text("k", number), ""};
  for (std::size_t i = 0; i < std::min(words.size(), kNameWords); ++i) title.name += "_" + words[i];
  if (words.size() > kNameWords) title.name += text("_and_", words.size() - kNameWords);
  for (std::size_t i = 0; i < std::min(sources.size(), kMaxSources); ++i) {
    title.comes_from += (i == 0 ? "" : ", ") + sources[i];
  }
  if (sources.size() > kMaxSources) {
    title.comes_from += text(" and ", sources.size() - kMaxSources, " more");
  }
  return title;
}

}  // namespace kiln::codegen
