// Cycles are the strongly connected components of more than one node (Tarjan 1972).
#include "tests/whole/structure/include_graph.h"

#include "tests/whole/structure/source_tree.h"

#include <algorithm>
#include <deque>
#include <sstream>

namespace structure_test {
namespace {

std::string without_extension(const std::string& file) { return file.substr(0, file.rfind('.')); }
std::string base_of(const std::string& node) { return node.substr(node.rfind('/') + 1); }

std::vector<std::string> headers_in(const fs::path& path) {
  std::vector<std::string> headers;
  for (const std::string& line : lines_of(path)) {
    if (const std::string header = included(line); !header.empty()) headers.push_back(header);
  }
  return headers;
}

std::string node_of(const std::string& file, const std::vector<std::string>& headers) {
  const std::string own = without_extension(file);
  if (file.ends_with(".h") || headers.empty() || !headers[0].starts_with("kiln/")) return own;
  const std::string declared = without_extension(file_of_header(headers[0]));
  return base_of(declared) == base_of(own) ? declared : own;
}

class CycleFinder {
 public:
  explicit CycleFinder(const IncludeGraph& graph) : graph_(graph) {
    for (const auto& [node, others] : graph) {
      if (visits_.count(node) == 0) visit(node);
    }
    std::sort(cycles_.begin(), cycles_.end());
  }
  std::vector<std::vector<std::string>> cycles() && { return std::move(cycles_); }

 private:
  struct Visit {
    std::size_t number = 0, lowest = 0;
    bool is_open = true;  // its component is not known yet
  };

  std::size_t visit(const std::string& node) {
    const std::size_t number = visits_.size();
    visits_[node] = {number, number};
    open_.push_back(node);
    const auto others = graph_.find(node);
    if (others == graph_.end()) return close(node);
    for (const std::string& other : others->second) {
      const auto known = visits_.find(other);
      if (known == visits_.end()) {
        visits_[node].lowest = std::min(visits_[node].lowest, visit(other));
      } else if (known->second.is_open) {
        visits_[node].lowest = std::min(visits_[node].lowest, known->second.number);
      }
    }
    return close(node);
  }

  /// Pops the component off the open nodes if `node` was visited first in it.
  std::size_t close(const std::string& node) {
    const Visit visit = visits_[node];
    if (visit.lowest != visit.number) return visit.lowest;
    const auto begin = std::find(open_.begin(), open_.end(), node);
    std::vector<std::string> component(begin, open_.end());
    open_.erase(begin, open_.end());
    for (const std::string& one : component) visits_[one].is_open = false;
    std::sort(component.begin(), component.end());
    if (component.size() > 1) cycles_.push_back(std::move(component));
    return visit.lowest;
  }

  const IncludeGraph& graph_;
  std::map<std::string, Visit> visits_;
  std::vector<std::string> open_;
  std::vector<std::vector<std::string>> cycles_;
};

}  // namespace

std::string included(const std::string& line) {
  std::string word;
  std::istringstream words(line);
  words >> word;
  if (word == "#") words >> word;  // indented within #if
  if (word != "#include" && word != "include") return "";
  const std::size_t open = line.find_first_of("<\""), close = line.find_last_of(">\"");
  if (open == std::string::npos || close <= open) return "";
  return line.substr(open + 1, close - open - 1);
}

std::string file_of_header(const std::string& header) {
  for (const std::string root : {"", "core/types/", "core/", "runtime/"}) {
    if (fs::is_regular_file(kRoot / (root + header))) return root + header;
  }
  return "";
}

IncludeGraph include_graph(const std::vector<std::string>& folders) {
  IncludeGraph graph;
  for (const fs::path& path : sources()) {
    const std::string file = name_of(path);
    const bool is_wanted = std::any_of(folders.begin(), folders.end(), [&](const auto& folder) {
      return file.starts_with(folder + "/");
    });
    if (!is_wanted) continue;
    const std::vector<std::string> headers = headers_in(path);
    const std::string node = node_of(file, headers);
    std::set<std::string>& others = graph[node];
    for (const std::string& header : headers) {
      const std::string other = without_extension(file_of_header(header));
      if (!other.empty() && other != node) others.insert(other);
    }
  }
  return graph;
}

std::vector<std::vector<std::string>> cycles_in(const IncludeGraph& graph) {
  return CycleFinder(graph).cycles();
}

std::string way_around(const IncludeGraph& graph, const std::vector<std::string>& cycle) {
  const std::set<std::string> inside(cycle.begin(), cycle.end());
  const std::string& start = cycle.front();
  std::map<std::string, std::string> from;  // the node that each was reached from, breadth first
  std::deque<std::string> reached{start};
  while (!reached.empty() && from.count(start) == 0) {
    const std::string node = reached.front();
    reached.pop_front();
    for (const std::string& other : graph.at(node)) {
      if (inside.count(other) != 0 && from.emplace(other, node).second) reached.push_back(other);
    }
  }
  std::string way = start;
  for (std::string node = from.at(start); node != start; node = from.at(node)) {
    way = node + " -> " + way;
  }
  return start + " -> " + way;
}

}  // namespace structure_test
