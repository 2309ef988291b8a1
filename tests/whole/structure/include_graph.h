// The graph of includes among the files of the project, with a source and its header as one node.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace structure_test {

/// For each node the other nodes that it includes.
using IncludeGraph = std::map<std::string, std::set<std::string>>;

/// The text between the delimiters of an include line; empty for other lines.
std::string included(const std::string& line);

/// The file of the project that is included as `header`; empty for other headers. Public headers
/// are included from the folders that hold a folder `kiln`.
std::string file_of_header(const std::string& header);

/// The graph of all sources in these folders and below them. A node's name is its path without
/// the extension; a source whose first include is a public header of its name belongs to that
/// header's node, wherever it is.
IncludeGraph include_graph(const std::vector<std::string>& folders);

/// The sets of at least two nodes that include each other, directly or through others, sorted.
std::vector<std::vector<std::string>> cycles_in(const IncludeGraph& graph);

/// A shortest cycle through the first of the nodes `cycle`, as text: "a -> b -> a".
std::string way_around(const IncludeGraph& graph, const std::vector<std::string>& cycle);

}  // namespace structure_test
