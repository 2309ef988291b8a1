// Picture: a program as boxes in nested groups, with arrows for tensors, before it is laid out.
// draw_graph.h and backends make pictures, merge_chains.h and fold_repeats.h shorten them,
// print_dot.h writes them for Graphviz.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::picture {

/// The appearance of a box. Boxes from Work to Contraction may be merged.
enum class BoxStyle : std::uint8_t {
  Input,
  Result,
  Choice,
  Work,
  Reduction,
  Contraction,
  Kernel,
  Host
};

struct Box {
  std::vector<std::string> title = {};  // first lines: the name of a kernel, the number of a step
  std::vector<std::string> work = {};  // a line for each node that the box stands for
  std::string type = {};  // of the results
  std::vector<std::string> sources = {};  // K functions and lines of the user
  /// The work without names and sizes: boxes that differ in nothing else may be drawn once.
  std::string structure = {};
  BoxStyle style = BoxStyle::Work;
  int group = 0;
  int copies = 1;  // the number of boxes that it stands for
};

struct Arrow {
  enum class Kind : std::uint8_t {
    Value,  // `to` reads a result of `from`
    Remote,  // the same in another part of the picture: a number in both boxes
    Next  // `to` reads it in the next iteration, or in the next of repeated groups
  };
  int from = 0, to = 0;
  Kind kind = Kind::Value;

  auto operator<=>(const Arrow&) const = default;
};

struct Group {
  enum class Kind : std::uint8_t { Part, Scope, Loop, Branch, Parallel };
  std::string name;
  int parent = -1;
  Kind kind = Kind::Scope;
  int copies = 1;  // the number of groups that it stands for
  std::string last = {};  // the name of the last of them
};

struct Picture {
  std::string title;
  std::vector<Group> groups{Group{}};  // the first one is the whole picture
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;

  /// Adds an element and returns its index.
  int add(Box box);
  int add(Group group);
  /// Adds the arrow unless it leads from a box to itself.
  void add(const Arrow& arrow);
  /// Removes the boxes for which `kept` is false, with their arrows, groups without a box, and all
  /// but one of equal arrows.
  void keep(const std::vector<bool>& kept);
  /// Whether `group` is `outer` or inside of it.
  bool is_within(int group, int outer) const;
};

}  // namespace kiln::picture
