// Tests pictures of modules that are written as text.
#include "tests/support/catch.h"

#include "core/ir/scope.h"
#include "core/module/parse.h"
#include "core/module/read.h"
#include "core/ops/build.h"
#include "core/picture/draw_graph.h"

#include <algorithm>

using namespace kiln;
using picture::Arrow;
using picture::Box;
using picture::Group;
using picture::Picture;

namespace {

const char* const kStep = R"(kir 0.1
module "step"
symbol x.0
%0 = placeholder id=0 name="x" : float32[x.0,3] ; dot train.cpp:8
%1 = variable id=0 name="w" : float32[3,2] ; dot train.cpp:8
%2 = dot %0 %1 lhs=[0,1] rhs=[1,2] result=[0,2] : float32[x.0,2] ; dot train.cpp:8
%3 = tanh %2 : float32[x.0,2] ; tanh train.cpp:9
%4 = sum %3 axes=[0,1] : float32[] ; sum train.cpp:10
%5 = mul %3 %3 : float32[x.0,2] ; tanh train.cpp:9
%6 = dot %0 %5 lhs=[0,1] rhs=[0,2] result=[1,2] : float32[3,2] ; dot train.cpp:8
%7 = constant data=0.5 : float32[] ; operator* train.cpp:12
%8 = broadcast %7 dims=[3,2] axes=[] : float32[3,2] ; operator* train.cpp:12
%9 = mul %6 %8 : float32[3,2] ; operator* train.cpp:12
%10 = sub %1 %9 : float32[3,2] ; operator- train.cpp:12
inputs %0
outputs %4
update %1 %10
state %1
)";

/// The boxes as "group: title work", sorted.
std::vector<std::string> lines_of(const Picture& picture) {
  std::vector<std::string> lines;
  for (const Box& box : picture.boxes) {
    std::string line = picture.groups[static_cast<std::size_t>(box.group)].name + ":";
    for (const auto* list : {&box.title, &box.work}) {
      for (const std::string& one : *list) line += " " + one;
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

using Lines = std::vector<std::string>;

std::ptrdiff_t count(const Picture& picture, Arrow::Kind kind) {
  return std::count_if(picture.arrows.begin(), picture.arrows.end(),
                       [&](const Arrow& arrow) { return arrow.kind == kind; });
}

}  // namespace

TEST_CASE("draw_module: a training step has parts, and leaves are text") {
  const Picture picture = picture::draw_module(module::parse_module(kStep));
  CHECK(picture.title == "step");
  CHECK(lines_of(picture) == Lines{": dot(·, w float32[3,2]) tanh sum axes 0,1", ": output 0",
                                   ": x", "gradients: mul dot",
                                   "updates: mul(·, 0.5) sub(w "
                                   "float32[3,2], ·)",
                                   "updates: update w"});
  // The gradient reads tanh and x, the update reads the gradient.
  CHECK(count(picture, Arrow::Kind::Remote) == 3);
  const auto chain = std::find_if(picture.boxes.begin(), picture.boxes.end(),
                                  [](const Box& box) { return box.work.size() == 3; });
  REQUIRE(chain != picture.boxes.end());
  CHECK(chain->type == "float32[]");
  CHECK(chain->sources ==
        Lines{"dot at train.cpp:8", "tanh at train.cpp:9", "sum at train.cpp:10"});
}

TEST_CASE("draw_module: a loop is a group with its carries") {
  const Picture picture = picture::draw_module(module::parse_module(R"(kir 0.1
module "loop"
%0 = placeholder id=0 name="x" : float32[5,3] ; rnn a.cpp:1
%1 = variable id=0 name="w" : float32[3] ; rnn a.cpp:1
%2 = constant data=0 : float32[] ; rnn a.cpp:1
%3 = broadcast %2 dims=[3] axes=[] : float32[3] ; rnn a.cpp:1
%4 = scan %1 %3 %0 body={
  parameters int64[], float32[3], float32[3], float32[3]
  %0 = parameter index=1 : float32[3] ; rnn a.cpp:2
  %1 = parameter index=2 : float32[3] ; rnn a.cpp:2
  %2 = parameter index=3 : float32[3] ; rnn a.cpp:2
  %3 = mul %0 %1 : float32[3] ; rnn a.cpp:2
  %4 = add %2 %3 : float32[3] ; rnn a.cpp:3
  results %4
} consts=1 carry=1 xs=1 length=5 reverse=false : float32[3] ; rnn a.cpp:1
inputs %0
outputs %4
state %1
)"));
  const std::string loop = "loop of 5 iterations: rnn at a.cpp:1: ";
  CHECK(lines_of(picture) == Lines{": output 0", ": x", loop + "add", loop + "carry 0 from 0",
                                   loop + "mul(w float32[3], ·)",
                                   loop + "slice of this iteration"});
  CHECK(count(picture, Arrow::Kind::Next) == 1);
}

TEST_CASE("draw_module: a branch has a choice, and both results lead to its users") {
  const Picture picture = picture::draw_module(module::parse_module(R"(kir 0.1
module "branch"
%0 = placeholder id=0 name="flag" : bool[] ; switch a.cpp:1
%1 = placeholder id=1 name="x" : float32[3] ; switch a.cpp:1
%2 = cond %0 %1 then={
  parameters float32[3]
  %0 = parameter index=0 : float32[3] ; switch a.cpp:1
  %1 = exp %0 : float32[3] ; exp a.cpp:2
  results %1
} else={
  parameters float32[3]
  %0 = constant data=[1,2,3] : float32[3] ; switch a.cpp:3
  results %0
} : float32[3] ; switch a.cpp:1
inputs %0 %1
outputs %2
)"));
  CHECK(lines_of(picture) ==
        Lines{": flag", ": output 0", ": x", "branch: switch at a.cpp:1: if ", "then: exp"});
  CHECK(picture.arrows.size() == 4);
}

TEST_CASE("draw_module: name scopes are groups, and equal ones are drawn once") {
  static const ir::Scope encoder{"encoder", {}, nullptr};
  static const ir::Scope layers[] = {
      {"layer_0", {}, &encoder}, {"layer_1", {}, &encoder}, {"layer_2", {}, &encoder}};
  const ir::Value x = ir::make(
      ir::Op::Placeholder,
      ir::PlaceholderAttrs{.id = module::fresh_id(), .name = "x", .type = {DType::Float32, {3}}},
      {});
  const auto variable = [](const std::string& name) {
    return ir::make(
        ir::Op::Variable,
        ir::VariableAttrs{
            .id = module::fresh_id(), .name = name, .type = {DType::Float32, {3}}, .state = {}},
        {});
  };
  ir::Value y = x;
  for (const ir::Scope& layer : layers) {
    const ir::OriginScope scope({{"a.cpp", 1}, "f", &layer}, /*replace=*/true);
    const ir::Value w = variable("encoder/" + layer.name + "/w");
    y = ir::unary(ir::Op::Exp, ir::make(ir::Op::Mul, {}, {y, w}));
  }
  const module::Module module = module::make_module({{x}, {y}, {}}, {}, "layers");
  const Picture picture = picture::draw_module(module);
  CHECK(lines_of(picture) == Lines{": output 0", ": x", "layer_0: mul(·, w float32[3]) exp"});
  REQUIRE(picture.groups.size() == 3);
  CHECK(picture.groups[1].name == "encoder");
  CHECK(picture.groups[2].copies == 3);
}
