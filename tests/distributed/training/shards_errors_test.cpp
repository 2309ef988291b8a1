// Errors of shards: of their options, of what a part computes, and of the rows of a call.
#include "tests/distributed/training/training_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

namespace kiln::testing {
namespace {

namespace D = distributed;

struct Parts {
  Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
  Tensor fixed = placeholder({.shape = {4, 2}, .name = "fixed"});
  Tensor w = variable({{1.f}, {2.f}}, {.name = "w"});
  Tensor loss = mean(square(dot(x, w)));

  Tensor average(const D::GradientsOptions& options) const {
    return D::gradients(loss, {w}, options)[0];
  }
  Tensor part_mean(const Tensor& value) const {
    return D::all_reduce(value,
                         {.reduction = D::Reduction::Mean, .shards = {.count = 2, .split = {x}}});
  }
};

struct Rejection {
  const char* name;
  Tensor (*build)(const Parts& graph);
  const char* error;
};

const Rejection kRejections[] = {
    {"negative count", [](const Parts& g) { return g.average({.shards = {-2, {g.x}}}); },
     "shards.count is -2 but must be the 2 ranks times a power of two"},
    {"no count", [](const Parts& g) { return g.average({.shards = {0, {g.x}}}); },
     "shards.count is 0 but must be the 2 ranks times a power of two"},
    {"fewer than ranks", [](const Parts& g) { return g.average({.shards = {1, {g.x}}}); },
     "shards.count is 1 but must be the 2 ranks times a power of two"},
    {"no multiple", [](const Parts& g) { return g.average({.shards = {3, {g.x}}}); },
     "shards.count is 3 but must be the 2 ranks times a power of two"},
    {"no power of two", [](const Parts& g) { return g.average({.shards = {6, {g.x}}}); },
     "shards.count is 6 but must be the 2 ranks times a power of two"},
    {"no split", [](const Parts& g) { return g.average({.shards = {2, {}}}); },
     "shards.split is empty"},
    {"static rows", [](const Parts& g) { return g.average({.shards = {2, {g.x, g.fixed}}}); },
     "shards.split[1] is "},
    {"no placeholder", [](const Parts& g) { return g.average({.shards = {2, {g.x * 2}}}); },
     "shards.split[0] is "},
    {"weight",
     [](const Parts& g) { return g.average({.weight = constant(1.), .shards = {2, {g.x}}}); },
     "weight is given, but shards count alike"},
    {"a gradient of rows",
     [](const Parts& g) { return D::gradients(g.loss, {g.w, g.x}, {.shards = {2, {g.x}}})[1]; },
     "variables[1] is x float32[None,2], which depends on shards.split[0]: each part has rows of "
     "its own"},
    {"a gradient of what rows give",
     [](const Parts& g) {
       const Tensor hidden = dot(g.x, g.w);
       return D::gradients(sum(square(hidden)), {hidden}, {.shards = {2, {g.x}}})[0];
     },
     "variables[0] is "},
    {"a sum", [](const Parts& g) { return D::all_reduce(g.loss, {.shards = {2, {g.x}}}); },
     "shards are given, but the reduction is not Mean"},
    {"a value for each row", [](const Parts& g) { return g.part_mean(g.x * 2); },
     "a value of each part is float32[x.0,2], whose shape is not static"},
    {"sizes of rows alone", [](const Parts& g) { return g.part_mean(sum(ones_like(g.x))); },
     "the value of a part reads no placeholder of shards.split"},
    {"a collective in a part",
     [](const Parts& g) {
       const Tensor total = D::all_reduce(sum(g.x));
       return g.part_mean(g.loss * total);
     },
     "a part of shards depends on a collective, all_reduce (shards_errors_test.cpp:N)"},
    {"parts within a part",
     [](const Parts& g) { return g.part_mean(g.loss * g.part_mean(g.loss)); },
     "a part of shards depends on a collective, all_reduce (shards_errors_test.cpp:N)"},
    {"statistics of all ranks in a part",
     [](const Parts& g) {
       const layers::BatchNormalization normalization(
           {.synchronized = true, .name = "normalization"});
       return g.part_mean(sum(normalization(g.x, {.training = 1})));
     },
     "a part of shards depends on a collective, "},
    {"two numbers of shards",
     [](const Parts& g) { return g.part_mean(g.loss) + sum(g.average({.shards = {4, {g.x}}})); },
     "all_reduce (shards_errors_test.cpp:N) has 1 shards on each rank, but gradients "
     "(shards_errors_test.cpp:N) has 2: a function has one number of shards"},
    {"a gradient of parts",
     [](const Parts& g) {
       const Tensor loss = sum(square(g.average({.shards = {2, {g.x}}}))) + sum(square(g.w));
       return gradients(loss, {g.w})[0];
     },
     "the loss depends on gradients (shards_errors_test.cpp:N) with shards, which has no gradient"},
    {"a size known at run time in a part",
     [](const Parts& g) {
       const Tensor rows = sum(ones_like(g.x), {.axis = 1}) / 2.;
       const Tensor decoded = ctc_decode(reshape(g.x, {-1, 1, 2}), rows).decoded[0];
       return g.part_mean(mean(cast(decoded, "float32")));
     },
     "a size of ctc_decode (shards_errors_test.cpp:N) is known only at run time, which a function "
     "with shards does not allow"},
    {"a size known at run time beside the parts",
     [](const Parts& g) {
       const Tensor decoded = ctc_decode(reshape(g.x, {-1, 1, 2}), ones({4})).decoded[0];
       return g.part_mean(g.loss) + mean(cast(decoded, "float32"));
     },
     "a size of ctc_decode (shards_errors_test.cpp:N) is known only at run time, which a function "
     "with shards does not allow"},
};

/// The rows whose error is not the expected one.
std::string faults_of_rejections(const D::Session&) {
  std::string lines;
  for (const Rejection& row : kRejections) {
    const std::string error = error_of([&] {
      const Parts g;
      static_cast<void>(function({g.x}, {row.build(g)}));
    });
    const bool is_expected = error.rfind(row.error, 0) == 0;
    if (!is_expected) lines += std::string(row.name) + ": " + error + "\n";
  }
  return lines;
}

TEST_CASE("shards: options and parts that are rejected, on all ranks alike") {
  for (const std::string& text : texts_of_ranks(2, "reference", faults_of_rejections))
    CHECK(text == "");
}

struct HostileShard {
  const char* tensor;  // the type of %0
  const char* call;  // %1 is the position
  const char* error;
};

const HostileShard kHostileShards[] = {
    {"float32[x.0,2]",
     "%1 %0 function=\"shard\" payload=\"0 0\" id=1 results=[float32[x.0,2]] : float32[x.0,2]",
     "a shard has the payload '0 0', which is not the number of a part and their count"},
    {"float32[x.0,2]",
     "%1 %0 function=\"shard\" payload=\"2 2\" id=1 results=[float32[x.0,2]] : float32[x.0,2]",
     "a shard has the payload '2 2', which is not the number of a part and their count"},
    {"float32[]", "%1 %0 function=\"shard\" payload=\"0 1\" id=1 results=[float32[]] : float32[]",
     "a shard is of float32[], which has no rows"},
    {"float32[x.0,2]",
     "%1 function=\"shard\" payload=\"0 1\" id=1 results=[float32[x.0,2]] : float32[x.0,2]",
     "a shard has 0 tensors and 1 results, but must have as many results as tensors"},
    {"float32[2]",
     "%1 %0 function=\"shard_results\" payload=\"\" id=1 results=[float32[2]] : float32[2]",
     "a host function gives 2 results, the module 1"},
};

TEST_CASE("shards: modules with shards that no function makes are rejected") {
  const auto faults = texts_of_ranks(kAlone, "reference", [](const D::Session&) {
    const Scratch scratch;
    std::string lines;
    for (const HostileShard& row : kHostileShards) {
      const std::string file =
          scratch.write("f.kir", std::string("kir 0.1\nmodule \"f\"\nsymbol x.0\n") +
                                     "%0 = placeholder id=0 name=\"x\" : " + row.tensor +
                                     "\n%1 = constant data=0 : int64[]\n%2 = host_call " +
                                     row.call + "\ninputs %0\noutputs %2\n");
      const std::string error = error_of([&] { load_module(file)({Array::zeros({2})}); });
      if (error != row.error) lines += std::string(row.call) + ": " + error + "\n";
    }
    return lines;
  });
  CHECK(faults[0] == "");
}

TEST_CASE("shards: one rank rejects the parts that several do") {
  // Of the numbers of shards it takes all that are powers of two, and has them all by itself.
  CHECK(texts_of_ranks(kAlone, "reference", faults_of_rejections)[0] ==
        "negative count: shards.count is -2 but must be the 1 ranks times a power of two\n"
        "no count: shards.count is 0 but must be the 1 ranks times a power of two\n"
        "fewer than ranks: accepted\n"
        "no multiple: shards.count is 3 but must be the 1 ranks times a power of two\n"
        "no power of two: shards.count is 6 but must be the 1 ranks times a power of two\n"
        "two numbers of shards: all_reduce (shards_errors_test.cpp:N) has 2 shards on each rank, "
        "but gradients (shards_errors_test.cpp:N) has 4: a function has one number of shards\n");
}

/// The ends of calls to which each rank feeds its number of each row.
std::string call(const D::Group& world, const std::vector<std::vector<std::int64_t>>& rows) {
  const Parts g;
  const Tensor step = D::gradients(g.loss, {g.w}, {.shards = {.count = 4, .split = {g.x}}})[0];
  const Function train = function({g.x}, {}, {.updates = {update_sub(g.w, step)}, .name = "train"});
  const std::string before = bits_of({g.w});
  std::string lines;
  for (const std::vector<std::int64_t>& row : rows) {
    const std::int64_t own = row[static_cast<std::size_t>(world.rank())];
    const std::string text = error_of([&] { train({rows_of_step(0, 0, own, {2})}); });
    lines += text + (bits_of({g.w}) == before ? "\n" : "; w has changed\n");
  }
  return lines;
}

TEST_CASE("shards: rows that cannot be cut alike are errors that change no variable") {
  const auto texts = texts_of_ranks(2, "reference", [](const D::Session& world) {
    return call(world, {{3, 3}, {4, 3}, {4, 6}, {4, 4}});
  });
  const std::string rows = "3 rows are not a multiple of the 2 shards of this process\n";
  const std::string others =
      "rank 0 calls train (shards_errors_test.cpp:N) on reference in parts of 2 rows, its call 4, "
      "while rank 1 calls train (shards_errors_test.cpp:N) on reference in parts of 3 rows, its "
      "call 4; nothing was computed\naccepted; w has changed\n";
  CHECK(texts[0] == rows +
                        "rank 1 failed: gradients: 3 rows are not a multiple of the 2 shards of "
                        "this process [shards_errors_test.cpp:N]; no variable changed on any "
                        "rank\n" +
                        others);
  CHECK(texts[1] == rows + rows + others);
}

}  // namespace
}  // namespace kiln::testing
