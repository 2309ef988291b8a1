// Tests that includes form no cycle, and that runtime's folders are in the order of its README.
#include "tests/support/catch.h"
#include "tests/whole/structure/include_graph.h"
#include "tests/whole/structure/source_tree.h"

#include <algorithm>

using namespace structure_test;

namespace {

/// The folders of runtime's README; each folder precedes those that include it.
std::vector<std::string> runtime_folders() {
  std::vector<std::string> folders;
  for (const std::string& line : lines_of(kRoot / "runtime" / "README.md")) {
    if (!line.starts_with("| `")) continue;
    folders.push_back("runtime/" + line.substr(3, line.find('`', 3) - 3));
  }
  return folders;
}

}  // namespace

TEST_CASE("includes: no cycles") {
  const IncludeGraph graph = include_graph({"core", "runtime", "backends", "tools"});
  CHECK(graph.size() > 300);
  for (const std::vector<std::string>& cycle : cycles_in(graph)) {
    FAIL_CHECK(cycle.size() << " files include each other: " << way_around(graph, cycle));
  }
}

TEST_CASE("include graph: cycles are found") {
  struct Row {
    IncludeGraph graph;
    std::vector<std::vector<std::string>> cycles;
  };
  const std::vector<Row> rows{
      {{}, {}},
      {{{"a", {"b", "c"}}, {"b", {"c"}}, {"c", {}}}, {}},
      {{{"a", {"b"}}}, {}},
      {{{"a", {"b"}}, {"b", {"a"}}}, {{"a", "b"}}},
      {{{"a", {"b"}}, {"b", {"c"}}, {"c", {"d", "b"}}, {"d", {}}}, {{"b", "c"}}},
      {{{"a", {"b", "d"}}, {"b", {"c"}}, {"c", {"a"}}, {"d", {"e"}}, {"e", {"d"}}},
       {{"a", "b", "c"}, {"d", "e"}}},
      {{{"a", {"b"}}, {"b", {"a", "c"}}, {"c", {"b"}}}, {{"a", "b", "c"}}}};
  for (const Row& row : rows) CHECK(cycles_in(row.graph) == row.cycles);
  const IncludeGraph graph{{"a", {"b", "c"}}, {"b", {"d"}}, {"c", {"a"}}, {"d", {"a", "b"}}};
  CHECK(way_around(graph, {"a", "b", "c", "d"}) == "a -> c -> a");
  CHECK(way_around(graph, {"b", "d"}) == "b -> d -> b");
}

TEST_CASE("include graph: a source and its header are one node") {
  const IncludeGraph graph = include_graph({"core", "runtime"});
  // runtime/function/function.cpp belongs to the public header's node.
  CHECK(graph.count("runtime/function/function") == 0);
  CHECK(graph.at("runtime/kiln/function").count("runtime/function/call") == 1);
  CHECK(graph.at("runtime/kiln/function").count("runtime/kiln/stage") == 1);
  CHECK(graph.at("runtime/function/call").count("core/types/text") == 1);
  CHECK(graph.at("runtime/plugin/plugin_open").count("runtime/plugin/plugin") == 1);
  CHECK(file_of_header("kiln/error.h") == "core/types/kiln/error.h");
  CHECK(file_of_header("vector").empty());
}

TEST_CASE("includes: folders of runtime include only those above them in its README") {
  const std::vector<std::string> folders = runtime_folders();
  const auto position = [&](const std::string& node) {
    const std::string folder = node.substr(0, node.rfind('/'));
    return std::find(folders.begin(), folders.end(), folder) - folders.begin();
  };
  CHECK(folders.size() > 5);
  for (const fs::path& path : sources()) {
    const std::string file = name_of(path);
    if (!file.starts_with("runtime/")) continue;
    INFO(file);
    REQUIRE(position(file) < static_cast<std::ptrdiff_t>(folders.size()));
    for (const std::string& line : lines_of(path)) {
      const std::string header = file_of_header(included(line));
      if (!header.starts_with("runtime/")) continue;
      INFO("includes " << header);
      CHECK(position(header) <= position(file));
    }
  }
}
