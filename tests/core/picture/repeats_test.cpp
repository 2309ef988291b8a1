// Tests chains, repeated scopes and repeated boxes on pictures made by hand.
#include "tests/support/catch.h"

#include "core/picture/fold_repeats.h"
#include "core/picture/hoist_shared.h"
#include "core/picture/merge_chains.h"
#include "core/picture/node_groups.h"

#include <algorithm>

using namespace kiln::picture;

namespace {

int add_work(Picture& picture, const std::string& work, int group = 0,
             const std::string& type = "float32[2]") {
  return picture.add(
      Box{.work = {work}, .type = type, .sources = {}, .structure = work, .group = group});
}

/// `count` scopes, each of which reads the one before it: dot -> relu -> add, and dot -> add.
Picture layers(int count, const std::vector<std::string>& types = {}) {
  Picture picture;
  int before = picture.add(Box{.title = {"x"}, .style = BoxStyle::Input});
  for (int i = 0; i < count; ++i) {
    const int scope = picture.add(Group{"layer_" + std::to_string(i), 0});
    const std::string type = types.empty() ? "float32[2]" : types[static_cast<std::size_t>(i)];
    const int dot = add_work(picture, "dot", scope, type);
    const int relu = add_work(picture, "relu", scope, type);
    const int sum = add_work(picture, "add", scope, type);
    picture.add(Arrow{before, dot});
    picture.add(Arrow{dot, relu});
    picture.add(Arrow{dot, sum});
    picture.add(Arrow{relu, sum});
    before = sum;
  }
  const int result = picture.add(Box{.title = {"y"}, .style = BoxStyle::Result});
  picture.add(Arrow{before, result});
  return picture;
}

bool has_arrow(const Picture& picture, const Arrow& arrow) {
  return std::count(picture.arrows.begin(), picture.arrows.end(), arrow) == 1;
}

}  // namespace

TEST_CASE("merge_chains: merges what only the next box reads") {
  Picture picture;
  const int x = picture.add(Box{.title = {"x"}, .style = BoxStyle::Input});
  const int dot = add_work(picture, "dot"), add = add_work(picture, "add");
  const int relu = add_work(picture, "relu"), exp = add_work(picture, "exp");
  const int sum = add_work(picture, "sum");
  const Arrow arrows[] = {{x, dot},
                          {dot, add},
                          {add, relu},
                          {relu, exp},
                          {relu, sum},
                          {exp, sum},
                          {dot, sum, Arrow::Kind::Remote}};
  for (const Arrow& one : arrows) picture.add(one);
  merge_chains(picture);
  REQUIRE(picture.boxes.size() == 4);  // x, the chain, exp, sum
  CHECK(picture.boxes[1].work == std::vector<std::string>{"dot", "add", "relu"});
  CHECK(picture.boxes[1].structure == "dot; add; relu");
  CHECK(has_arrow(picture, {1, 2}));
  CHECK(has_arrow(picture, {1, 3}));
  CHECK(has_arrow(picture, {1, 3, Arrow::Kind::Remote}));
  CHECK(has_arrow(picture, {2, 3}));
}

TEST_CASE("merge_chains: boxes of two groups, with titles, or before the next iteration stay") {
  Picture picture;
  const int scope = picture.add(Group{"layer", 0});
  const int a = add_work(picture, "a"), b = add_work(picture, "b", scope);
  const int c = picture.add(Box{.title = {"library call"}, .work = {"c"}, .group = scope});
  const int carry = picture.add(Box{.title = {"carry"}, .style = BoxStyle::Input});
  const int d = add_work(picture, "d"), e = add_work(picture, "e");
  const Arrow arrows[] = {{a, b}, {b, c}, {carry, d}, {d, e}, {d, carry, Arrow::Kind::Next}};
  for (const Arrow& one : arrows) picture.add(one);
  merge_chains(picture);
  CHECK(picture.boxes.size() == 6);
}

TEST_CASE("fold_scopes: equal layers are drawn once") {
  Picture picture = layers(12);
  fold_scopes(picture);
  REQUIRE(picture.boxes.size() == 5);
  REQUIRE(picture.groups.size() == 2);
  CHECK(picture.groups[1].copies == 12);
  CHECK(picture.groups[1].last == "layer_11");
  CHECK(has_arrow(picture, {0, 1}));
  CHECK(has_arrow(picture, {3, 1, Arrow::Kind::Next}));
  CHECK(has_arrow(picture, {3, 4}));
  CHECK(picture.arrows.size() == 6);
}

TEST_CASE("fold_scopes: layers of other types, arrows or names stay") {
  Picture types = layers(4, {"float32[2]", "float32[2]", "float32[3]", "float32[2]"});
  fold_scopes(types);
  CHECK(types.groups.size() == 3);

  Picture arrows = layers(3);
  arrows.arrows.erase(arrows.arrows.begin() + 2);  // of the first layer: dot -> add
  fold_scopes(arrows);
  REQUIRE(arrows.groups.size() == 3);
  CHECK(arrows.groups[2].copies == 2);

  Picture names = layers(3);
  const char* const parts[] = {"", "query", "key", "value"};
  for (std::size_t g = 1; g < names.groups.size(); ++g) names.groups[g].name = parts[g];
  fold_scopes(names);
  CHECK(names.groups.size() == 4);
}

TEST_CASE("fold_scopes: the second of \"dense\", \"dense_1\" is a repeat, with scopes inside") {
  Picture picture;
  for (const char* name : {"dense", "dense_1"}) {
    const int outer = picture.add(Group{name, 0});
    for (const char* part : {"norm_0", "norm_1"}) {
      const int inner = picture.add(Group{part, outer});
      picture.add(Arrow{add_work(picture, "mean", inner), add_work(picture, "sub", inner)});
    }
  }
  fold_scopes(picture);
  CHECK(picture.boxes.size() == 2);
  REQUIRE(picture.groups.size() == 3);
  CHECK(picture.groups[1].copies == 2);
  CHECK(picture.groups[2].copies == 2);
}

TEST_CASE("hoist_shared: what depends on no input and several scopes read leaves them") {
  Picture picture = layers(3);
  const int loop = picture.add(Group{"loop", 0, Group::Kind::Loop});
  const int range = add_work(picture, "range", 1), mask = add_work(picture, "mask", 1);
  const int own = add_work(picture, "own", 2), inner = add_work(picture, "inner", loop);
  picture.add(Arrow{range, mask});
  for (int layer = 0; layer < 3; ++layer) {
    picture.add(Arrow{mask, 2 + 3 * layer});
    picture.add(Arrow{inner, 2 + 3 * layer});
  }
  picture.add(Arrow{own, 5});
  const int first = picture.boxes[1].group;
  hoist_shared(picture);
  const auto group = [&](int box) { return picture.boxes[static_cast<std::size_t>(box)].group; };
  CHECK(group(range) == 0);
  CHECK(group(mask) == 0);
  CHECK(group(own) == 2);
  CHECK(group(inner) == loop);
  CHECK(group(1) == first);
}

TEST_CASE("hoist_shared: what a neighbouring scope alone reads stays in its own") {
  Picture picture = layers(2);
  const int own = add_work(picture, "own", 1), user = add_work(picture, "user", 2);
  picture.add(Arrow{own, user});
  hoist_shared(picture);
  CHECK(picture.boxes[static_cast<std::size_t>(own)].group == 1);
}

TEST_CASE("shorten: equal steps of a parallel region are one, and other equal boxes stay") {
  Picture picture;
  const int region = picture.add(Group{"in parallel", 0, Group::Kind::Parallel});
  for (int i = 0; i < 4; ++i) {
    add_work(picture, "update", region, std::to_string(i));
    add_work(picture, "update", 0, std::to_string(i));
  }
  shorten(picture);
  REQUIRE(picture.boxes.size() == 5);
  CHECK(picture.boxes[0].copies == 4);
  CHECK(picture.boxes[1].copies == 1);
}

TEST_CASE("fold_boxes: boxes that cannot be told apart are one, whatever their types") {
  Picture picture;
  const int updates = picture.add(Group{"updates", 0, Group::Kind::Part});
  for (int i = 0; i < 5; ++i) {
    const int gradient = add_work(picture, "gradient", 0, std::to_string(i));
    const int square = add_work(picture, "mul", updates, std::to_string(i));
    const int scale = add_work(picture, "mul", updates, std::to_string(i));
    const int next = add_work(picture, "sub", updates, std::to_string(i));
    const Arrow arrows[] = {{gradient, square}, {gradient, scale}, {square, next}};
    for (const Arrow& one : arrows) picture.add(one);
  }
  fold_boxes(picture, updates);
  // The "mul" that "sub" reads differs from the other one.
  REQUIRE(picture.boxes.size() == 5 + 3);
  const auto copies = [&](std::size_t box) { return picture.boxes[box].copies; };
  CHECK(copies(0) == 1);
  CHECK(copies(1) == 5);
  CHECK(copies(2) == 5);
  CHECK(copies(3) == 5);
  CHECK(has_arrow(picture, {1, 3}));
  CHECK_FALSE(has_arrow(picture, {2, 3}));
}
