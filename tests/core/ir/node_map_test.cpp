// Tests NodeMap and NodeSet beside std::map and std::set.
#include "tests/support/catch.h"

#include "core/ir/node_map.h"

#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace kiln::ir;

namespace {

/// Distinct addresses of nodes, 16 bytes apart; never dereferenced.
class Nodes {
 public:
  explicit Nodes(std::size_t count) : bytes_(count * kBytes) {}
  const Node* operator[](std::size_t i) const {
    return reinterpret_cast<const Node*>(bytes_.data() + i * kBytes);
  }

 private:
  static constexpr std::size_t kBytes = 16;
  std::vector<char> bytes_;
};

}  // namespace

TEST_CASE("NodeMap: has the values of std::map after random insertions") {
  constexpr std::size_t kNodes = 500;
  const Nodes nodes(kNodes);
  std::minstd_rand random(1);
  for (const std::size_t expected : {0, 3, 1000}) {
    NodeMap<std::string> map(expected);
    std::map<const Node*, std::string> model;
    CHECK_FALSE(map.contains(nodes[0]));
    for (int i = 0; i < 2000; ++i) {
      const Node* node = nodes[random() % kNodes];
      const std::string value = std::to_string(i);
      if (random() % 2 == 0) {
        map[node] += value;
        model[node] += value;
        continue;
      }
      const auto [at, is_new] = map.emplace(node, value);
      const auto [known, is_new_in_model] = model.try_emplace(node, value);
      REQUIRE(is_new == is_new_in_model);
      REQUIRE(*at == known->second);
    }
    REQUIRE(map.size() == model.size());
    REQUIRE(model.size() > 16);  // the table grew, unless it was reserved
    for (std::size_t i = 0; i < kNodes; ++i) {
      const auto known = model.find(nodes[i]);
      const std::string* found = map.find(nodes[i]);
      REQUIRE((found != nullptr) == (known != model.end()));
      if (found) CHECK((*found == known->second && map.at(nodes[i]) == known->second));
    }
  }
}

TEST_CASE("NodeMap: at() throws for a node without a value") {
  const Nodes nodes(2);
  NodeMap<int> map;
  CHECK_THROWS_AS(map.at(nodes[0]), std::out_of_range);
  map.emplace(nodes[0], 7);
  CHECK(map.at(nodes[0]) == 7);
  CHECK_THROWS_AS(map.at(nodes[1]), std::out_of_range);
}

TEST_CASE("NodeMap: a new value of operator[] is zero") {
  const Nodes nodes(1);
  NodeMap<int> map;
  CHECK(map[nodes[0]]++ == 0);
  CHECK(map.at(nodes[0]) == 1);
}

TEST_CASE("NodeSet: has the nodes of std::set after random insertions") {
  constexpr std::size_t kNodes = 300;
  const Nodes nodes(kNodes);
  std::minstd_rand random(2);
  NodeSet set;
  std::set<const Node*> model;
  for (int i = 0; i < 400; ++i) {
    const Node* node = nodes[random() % kNodes];
    REQUIRE(set.insert(node) == model.insert(node).second);
    REQUIRE(set.insert(node) == false);
  }
  REQUIRE(model.size() < kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) {
    CHECK(set.contains(nodes[i]) == (model.count(nodes[i]) != 0));
  }
}
