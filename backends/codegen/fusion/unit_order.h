// Units in an order in which they can run, kept up while units and edges are added. Invariant:
// labels rise along every edge, so that only what lies between two units has to be searched for a
// path, from both ends at once. Questions give up after so many edges that deep graphs cost no
// more for each than shallow ones.
// Source: Pearce and Kelly 2006, A dynamic topological sort algorithm for directed acyclic graphs.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace kiln::codegen {

class UnitOrder {
 public:
  /// The next number; the unit is last in the order until edges say otherwise.
  int add();
  /// Whether there may be a path: where searching takes too long it says so.
  bool may_come_before(int first, int second) const;
  /// REQUIRES: no path from `later` to `earlier`.
  void add_edge(int earlier, int later);
  /// What has an edge to that unit.
  const std::vector<int>& earlier_of(int index) const { return in_[place(index)]; }
  /// All units so that edges lead forward: always the smallest number that can be next.
  std::vector<int> sorted() const;
  /// Edges that searches looked at so far.
  std::int64_t looks() const { return looks_; }

 private:
  using Edges = std::vector<std::vector<int>>;  // of each unit

  /// One end of a search: what it reached, looked at in turn.
  struct Side {
    std::vector<int> seen;
    std::size_t at = 0, edge = 0;
    bool is_done() const { return at == seen.size(); }
  };

  static std::size_t place(int index) { return static_cast<std::size_t>(index); }
  bool is_apart(int first, int second, std::int64_t patience) const;
  bool step(Side& side, const Edges& edges, std::uint64_t own, std::uint64_t other) const;
  void unlink(int index);
  void move(std::vector<int>& moved, int target);
  void label_anew();

  Edges in_, out_;
  std::unordered_set<std::uint64_t> known_;  // edges
  // The order: a list, and labels that rise along it.
  std::vector<int> previous_, next_;
  std::vector<std::uint64_t> labels_;
  int first_ = -1, last_ = -1;
  // The last search: only units between these labels; marks say which side has reached a unit.
  mutable Side forward_, backward_;
  mutable std::uint64_t low_ = 0, high_ = 0, mark_ = 0;
  mutable std::vector<std::uint64_t> marks_;
  mutable std::int64_t looks_ = 0;
};

}  // namespace kiln::codegen
