// Incremental topological order of groups: groups and edges are added in any order, and a query
// asks whether a path leads from one group to another (so that merging them would close a cycle).
//
// Groups have labels that rise along every edge. A path from a to b therefore passes only through
// labels between theirs, and a search needs to visit only those groups; it runs from both ends in
// turn and stops with the smaller side. An edge against the order moves that side's groups. A query
// gives up after a constant number of edges, so that fusing is linear in the depth of the graph.
// Source: Pearce and Kelly 2006, A dynamic topological sort algorithm for directed acyclic graphs.
#pragma once

#include "core/types/at.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace kiln::codegen {

class GroupOrder {
 public:
  /// Adds a group, last in the order, and returns its number.
  int add();
  /// Whether there may be a path: "no" is exact, and a search that takes too long answers "yes".
  bool may_come_before(int first, int second) const;
  /// REQUIRES: no path from `later` to `earlier`.
  void add_edge(int earlier, int later);
  /// The groups with an edge to the group.
  const std::vector<int>& earlier_of(int index) const { return in_[at(index)]; }
  /// All groups in topological order; among those that are ready, the smallest number first.
  std::vector<int> sorted() const;
  /// Number of edges that searches visited so far.
  std::int64_t edge_visits() const { return edge_visits_; }

 private:
  using Edges = std::vector<std::vector<int>>;  // of each group

  /// One direction of a search: the groups that it reached, and how far it has visited them.
  struct Side {
    std::vector<int> seen;
    std::size_t at = 0, edge = 0;
    bool is_done() const { return at == seen.size(); }
  };

  bool is_unreachable(int first, int second, std::int64_t max_visits) const;
  bool step(Side& side, const Edges& edges, std::uint64_t own, std::uint64_t other) const;
  void unlink(int index);
  void move(std::vector<int>& moved, int target);
  void relabel();

  Edges in_, out_;
  std::unordered_set<std::uint64_t> known_;  // edges
  // The order: a doubly linked list, and labels that rise along it.
  std::vector<int> previous_, next_;
  std::vector<std::uint64_t> labels_;
  int first_ = -1, last_ = -1;
  // The last search: it visits groups with labels in low_ .. high_; a mark says which side has
  // reached a group.
  mutable Side forward_, backward_;
  mutable std::uint64_t low_ = 0, high_ = 0, mark_ = 0;
  mutable std::vector<std::uint64_t> marks_;
  mutable std::int64_t edge_visits_ = 0;
};

}  // namespace kiln::codegen
