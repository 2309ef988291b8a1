// Collects the paths of a graph, also in bodies, and replaces them in one pass over the text.
#include "core/module/source_paths.h"

#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/module/text_form.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace kiln::module {
namespace {

void collect(const Module& module, std::span<const ir::Value> roots, std::set<std::string>& paths) {
  for (const ir::Node* node : ir::topological_order(roots)) {
    const ir::Origin& origin = module.origin_of(*node);
    paths.insert(origin.where.file);
    for (const ir::Scope* s = origin.scope; s != nullptr; s = s->parent) {
      paths.insert(s->where.file);
    }
    ir::for_each_lambda(*node,
                        [&](const ir::Lambda& lambda) { collect(module, lambda.results, paths); });
  }
}

/// The end of a path from its last `count` components on.
std::string_view last_components(std::string_view path, int count) {
  std::size_t at = path.size();
  for (int i = 0; i < count && at != std::string_view::npos && at != 0; ++i) {
    at = path.rfind('/', at - 1);
  }
  return at == std::string_view::npos || at == 0 ? path : path.substr(at + 1);
}

/// The shortest end of the path that no other path has.
std::string short_name(const std::string& path, const std::set<std::string>& paths) {
  for (int count = 1;; ++count) {
    const std::string_view name = last_components(path, count);
    if (name == path) return path;
    const auto shares = [&](const std::string& other) {
      return other != path && last_components(other, count) == name;
    };
    if (std::none_of(paths.begin(), paths.end(), shares)) return std::string(name);
  }
}

}  // namespace

SourcePaths::SourcePaths(const Module& module) {
  std::set<std::string> paths;
  collect(module, module.written_roots(), paths);
  for (const std::string& path : paths) {
    std::string name = short_name(path, paths);
    if (name != path) files_.push_back({path, std::move(name)});
  }
}

std::string SourcePaths::shorten(const std::string& listing) const {
  std::string out;
  std::set<const File*> found;
  const std::string_view all = listing;
  bool is_begin = true;  // of a word
  for (std::size_t at = 0; at < all.size();) {
    const auto file =
        !is_begin ? files_.end() : std::find_if(files_.begin(), files_.end(), [&](const File& one) {
          return all.substr(at).starts_with(one.path) &&
                 all.substr(at + one.path.size()).starts_with(':');
        });
    is_begin = file == files_.end() && !is_plain_character(all[at]);
    if (file == files_.end()) {
      out += all[at++];
      continue;
    }
    found.insert(&*file);
    out += file->name;
    at += file->path.size();
  }
  std::string head;
  for (const File& file : files_) {
    if (found.count(&file) != 0) head += "# " + file.name + ": " + file.path + "\n";
  }
  return head + out;
}

}  // namespace kiln::module
