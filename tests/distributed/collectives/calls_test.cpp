// Calls of other kinds than operator(): eval, call_into; and what a print sink does within a call.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

#include <kiln/print.h>

#include <stdexcept>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

TEST_CASE("calls: eval of a collective is a call of all ranks") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto own = static_cast<float>(world.rank());
    const auto x = K::variable({own, 1.f});
    faults.expect_equal("sum", K::eval(D::all_reduce(x)), K::Array{3.f, 3.f});
    faults.expect_equal("sum of sums", K::eval(K::sum(D::all_reduce(x + 1.) * 2.)), K::Array(24.f));
    faults.expect_equal("constant", K::eval(D::all_reduce(K::constant(2.))), K::Array(6.f));
    const auto list = D::all_reduce({x, x * 2.}, {.reduction = D::Reduction::Mean});
    faults.expect_equal("list", K::eval(list[0] + list[1]), K::Array{3.f, 3.f});
    const auto index = K::constant(world.rank() == 1 ? 5 : 0, {.dtype = "int32"});
    const std::string error = thrown_by(
        [&] { K::eval(D::all_reduce(K::gather(x, index + 0 * K::cast(K::sum(x), "int32")))); });
    const bool is_told = error.starts_with(
        world.rank() == 1 ? "ValueError: eval: index 5"
                          : "DistributedError of 1: eval: rank 1 failed: eval: index 5");
    faults.expect(is_told, error);
    const std::string other = thrown_by([&] {
      if (world.rank() == 2) world.barrier();
      else K::eval(D::all_reduce(x));
    });
    faults.expect(other.starts_with("DistributedError of 2: "), other);
    faults.expect_equal("after", K::eval(D::all_gather(x)), K::Array{0.f, 1.f, 1.f, 1.f, 2.f, 1.f});
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("calls: call_into, also into the memory of an input") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {K::None}});
      const auto f =
          K::function({x}, {D::all_reduce(x), D::broadcast(x, {.root = 1})}, {.backend = backend});
      std::vector<float> in{1, 2, 3}, out(3);
      for (float& element : in) element += static_cast<float>(world.rank());
      const std::vector<std::int64_t> dims{3};
      const K::ArrayView input{DType::Float32, in.data(), dims};
      const K::MutableArrayView into[] = {{DType::Float32, in.data(), dims},
                                          {DType::Float32, out.data(), dims}};
      f.call_into({&input, 1}, into);
      faults.expect(in == std::vector<float>{3, 5, 7}, "sum");
      faults.expect(out == std::vector<float>{2, 3, 4}, "broadcast");
    }
    return faults.text();
  });
  CHECK(ends == "");
}

/// A function that prints between its collectives.
K::Function printing_step(const K::Tensor& w, const char* backend) {
  const auto sum = K::print_tensor(D::all_reduce(K::ones_like(w)));
  return K::function({}, {D::all_gather(sum)},
                     {.updates = {K::update_add(w, sum)}, .name = "train", .backend = backend});
}

TEST_CASE("calls: a print sink within a call must not take part in another") {
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    const auto part = world.split(0);
    for (const char* backend : kBackends) {
      const auto w = K::variable({1.}, {.name = "w"});
      const auto f = printing_step(w, backend);
      const auto other = K::function({}, {D::all_reduce(w)}, {.name = "other"});
      std::string texts;
      K::set_print_sink([&](std::string_view) {
        texts += thrown_by([&] { world.barrier(); }) + "\n" + thrown_by([&] { other(); }) + "\n" +
                 thrown_by([&] { f(); }) + "\n" + thrown_by([&] { D::require_equal({w}); }) + "\n";
        texts += thrown_by([&] { K::eval(D::all_reduce(w, {.group = part})); }) + "\n";
        texts += thrown_by([&] { D::run_together([] { throw std::runtime_error("runs"); }); });
        texts += "\n";
        texts += printed(K::eval(w * 2.));  // has no collectives
      });
      const auto found = f();
      K::set_print_sink({});
      const std::string within =
          ": called within a call of a function with collectives, by this thread";
      faults.expect_equal("sink", texts,
                          "ValueError: barrier" + within + "\nValueError: other" + within +
                              "\nValueError: train" + within + "\nValueError: require_equal" +
                              within + "\nValueError: eval" + within +
                              "\nValueError: run_together" + within + "\n[2.]");
      faults.expect_equal("gathered", found[0], K::Array{2.f, 2.f});
      faults.expect_equal("w", K::get_value(w), K::Array{3.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("calls: a print sink within a call that updates variables must not, either") {
  // Another thread's call with collectives holds its group and waits for the variables.
  const std::string ends = run_sessions({.ranks = 2, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto w = K::variable({1.}, {.name = "w"}), v = K::variable({1.}, {.name = "v"});
      const auto add = [&](const K::Tensor& to) {
        return std::vector{K::update_add(to, K::print_tensor(to * 1.))};
      };
      const K::FunctionOptions named{.name = "local", .backend = backend};
      const auto reads = K::function({}, {K::print_tensor(w * 1.)}, named);
      auto updating = named;
      updating.updates = add(v);
      const auto updates = K::function({}, {}, updating);
      const auto train = K::function(
          {}, {D::all_reduce(w)},
          {.updates = {K::update_add(w, D::all_reduce(w))}, .name = "train", .backend = backend});
      std::string texts;
      K::set_print_sink([&](std::string_view) {
        texts += thrown_by([&] { train(); }) + "\n" + thrown_by([&] { world.barrier(); }) + "\n";
      });
      updates();
      const std::string within =
          ": called within the call of local, which updates variables: an "
          "operation of a group could wait for them\n";
      faults.expect_equal("updates", texts,
                          "ValueError: train" + within + "ValueError: barrier" + within);
      texts.clear();
      reads();
      K::set_print_sink({});
      faults.expect_equal("reads", texts, "no error\nno error\n");
      faults.expect_equal("w", K::get_value(w), K::Array{3.f});
      faults.expect_equal("v", K::get_value(v), K::Array{2.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("calls: a print sink that throws on one rank fails the call on all") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto w = K::variable({1.}, {.name = "w"});
      const auto f = printing_step(w, backend);
      K::set_print_sink([&](std::string_view) {
        if (world.rank() == 2) throw std::runtime_error("disk is full");
      });
      const std::string error = thrown_by([&] { f(); });
      K::set_print_sink([](std::string_view) {});
      faults.expect(error.find("disk is full") != std::string::npos, error);
      faults.expect(
          error.starts_with(world.rank() == 2 ? "IoError: "
                                              : "DistributedError of 2: train: rank 2 failed"),
          error);
      faults.expect_equal("after", f()[0], K::Array{3.f, 3.f, 3.f});
      faults.expect_equal("w", K::get_value(w), K::Array{4.f});
    }
    K::set_print_sink({});
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
