// Tests the text for Graphviz: clusters, attributes, and names that are no words.
#include "tests/support/catch.h"
#include "tests/support/has.h"

#include "core/picture/print_dot.h"

using namespace kiln::picture;
using kiln::testing::has;

TEST_CASE("print_dot: groups are clusters, arrows follow") {
  Picture picture;
  picture.title = "step";
  const int loop = picture.add(Group{"loop of 3", 0, Group::Kind::Loop});
  const int scope = picture.add(Group{"layer_0", loop, Group::Kind::Scope, 12, "layer_11"});
  const int x = picture.add(Box{.title = {"x"}, .style = BoxStyle::Input});
  const int dot = picture.add(Box{.work = {"dot(·, w)", "relu"},
                                  .type = "float32[2]",
                                  .sources = {"dense at a.cpp:3"},
                                  .style = BoxStyle::Contraction,
                                  .group = scope});
  picture.add(Arrow{x, dot});
  picture.add(Arrow{dot, x, Arrow::Kind::Next});
  const std::string text = print_dot(picture);
  INFO(text);
  const std::size_t begin = text.find("  n0 [");
  REQUIRE(begin != text.npos);
  CHECK(text.substr(begin) == R"(  n0 [label="x", shape=ellipse, fillcolor="#fff3c4"];
  subgraph cluster_1 {
    label="loop of 3";
    color="#3b6fb5"; style="rounded,bold";
    subgraph cluster_2 {
      label="layer_0 ... layer_11: 12 times";
      color="#a0a0a0"; fillcolor="#0000000c"; style="rounded,filled"; peripheries=2;
      n1 [label="dot(·, w)\nrelu\nfloat32[2]\ndense at a.cpp:3", fillcolor="#cfe2f8"];
    }
  }
  n0 -> n1;
  n1 -> n0 [style=dashed, constraint=false, color="#3b6fb5"];
}
)");
}

TEST_CASE("print_dot: an arrow to another part is a number in both boxes") {
  Picture picture;
  const int a = picture.add(Box{.work = {"a"}}), b = picture.add(Box{.work = {"b"}});
  const int c = picture.add(Box{.work = {"c"}});
  picture.add(Arrow{b, c, Arrow::Kind::Remote});
  picture.add(Arrow{a, b});
  picture.add(Arrow{b, a, Arrow::Kind::Remote});
  const std::string text = print_dot(picture);
  INFO(text);
  CHECK(has(text, "label=\"a\\nreads #1\""));
  CHECK(has(text, "label=\"b\\nresult #1\""));
  CHECK(has(text, "label=\"c\\nreads #1\""));
  CHECK(has(text, "n0 -> n1;"));
  CHECK_FALSE(has(text, "n1 -> "));
}

TEST_CASE("print_dot: any bytes are one short line of a label") {
  CHECK(escaped("a \"b\" \\n", 99) == "a \\\"b\\\" \\\\n");
  CHECK(escaped("&quot;<b>", 99) == "&amp;quot;<b>");
  CHECK(escaped("a\nb\x01\x7f\xff", 99) == "a b  ?");
  CHECK(escaped("\xc3\xa9\xe2\x82\xac", 99) == "\xc3\xa9\xe2\x82\xac");
  CHECK(escaped("\xc3\xa9\xe2\x82\xac", 1) == "\xc3\xa9...");
  CHECK(escaped("abc", 3) == "abc");
  CHECK(escaped("abcd", 3) == "abc...");
}

TEST_CASE("print_dot: a box with many lines says how many are left out") {
  Picture picture;
  picture.add(Box{.work = std::vector<std::string>(20, "add")});
  picture.add(Box{.work = std::vector<std::string>(13, "mul"), .copies = 2});
  const std::string text = print_dot(picture);
  CHECK(has(text, "add\\nand 8 more\""));
  CHECK_FALSE(has(text, "mul\\nand "));
  CHECK(has(text, "label=\"2 times, for example:\\nmul"));
}
