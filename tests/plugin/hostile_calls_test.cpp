// A plugin that does one thing wrong while programs are compiled and called: a BackendError that
// names the backend and the function of its table, no variable changed, and the next call works.
#include "tests/catch.h"

#include "runtime/host/log.h"
#include "tests/plugin/spoiled.h"

#include <kiln/k.h>

#include <array>

using namespace kiln;
using runtime::fake_path;
using test::Spoiled;

namespace {

/// x + 1, and w + 1 as the new w.
struct Step {
  explicit Step(const std::string& name)
      : w(zeros({2})), x(placeholder({.shape = {None}, .name = "x"})) {
    f = function({x}, {x + 1.0},
                 {.updates = {update_add(w, 1.0)}, .name = name, .backend = fake_path("spoiled")});
  }
  Array call() const { return f({Array{1.f, 2.f}})[0]; }
  float weight() const { return get_value(w).as<float>()[0]; }
  Tensor w, x;
  Function f;
};

bool works_elsewhere() {
  const Tensor x = placeholder({.shape = {2}});
  const Function f = function({x}, {x + 1.0}, {.backend = fake_path("instant")});
  return f({Array{1.f, 2.f}})[0] == Array{2.f, 3.f};
}

/// Buffers and frames that are there are not made again; with frames, the buffer of an update is
/// asked about after its first write alone.
bool makes_once(const std::string& name, const std::string& fault) {
  return fault.find("allocate") != fault.npos || fault.find("import") != fault.npos ||
         fault.find("frame_create") != fault.npos ||
         (name == "frames" && (fault.starts_with("update:") || fault == "throw:buffer_info"));
}

/// Checks that a call fails where the plugin has that fault, with a message that names the entry,
/// and that nothing else came of it: for a new function and for one that was called before.
void check_call(const std::string& name, const std::string& fault, const std::string& entry) {
  INFO(name << ", " << fault);
  for (const bool warm : {false, true}) {
    const Step step(name);
    float calls = 0;
    if (warm) {
      CHECK(step.call() == Array{2.f, 3.f});
      CHECK(step.call() == Array{2.f, 3.f});
      calls = 2;
    }
    std::string got;
    {
      const Spoiled spoiled(fault);
      got = test::backend_error([&] { step.call(); });
    }
    if (warm && makes_once(name, fault) && got == "no error") {
      ++calls;
    } else {
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(entry));
      CHECK_THAT(got, Catch::Matchers::ContainsSubstring(test::spoiled_suffix()));
    }
    CHECK(step.weight() == calls);
    CHECK(step.call() == Array{2.f, 3.f});
    CHECK(step.weight() == calls + 1);
  }
  CHECK(works_elsewhere());
}

const std::string kTypeFaults[] = {"dims_null", "dims_negative", "dims_overflow", "rank_absurd",
                                   "rank",      "dims",          "dtype",         "dtype_unknown",
                                   "wider",     "size",          "size_zero"};

/// Faults that a buffer shows by itself are found in what buffer_info gives.
std::string entry_of(const std::string& fault, const std::string& made_by) {
  const bool agrees = fault == "rank" || fault == "dims" || fault == "dtype" || fault == "wider";
  return agrees ? made_by + " broke the boundary: " : "buffer_info broke the boundary: ";
}

}  // namespace

TEST_CASE("types of results are checked without frames", "[plugin]") {
  for (const std::string& fault : kTypeFaults) {
    check_call("buffered", "output:" + fault, entry_of(fault, "execute"));
    check_call("buffered", "update:" + fault, entry_of(fault, "execute"));
    check_call("later", "output:" + fault, entry_of(fault, "execute"));
  }
}

TEST_CASE("types of updates are checked with frames", "[plugin]") {
  for (const std::string& fault : kTypeFaults) {
    check_call("frames", "update:" + fault, entry_of(fault, "frame_run"));
  }
}

TEST_CASE("a value that was written over goes back to what the host knows", "[plugin]") {
  for (const std::string& fault : kTypeFaults) {
    const Step step("over");
    const auto fail = [&](const std::string& how) {
      const Spoiled spoiled(how);
      CHECK(test::backend_error([&] { step.call(); }) != "no error");
    };
    fail("update:" + fault);
    CHECK(step.weight() == 0);
    CHECK(step.call() == Array{2.f, 3.f});
    CHECK(step.weight() == 1);
    fail("frame:dims");
    CHECK(step.weight() == 1);
    step.call();
    step.call();  // the host does not know this value
    fail("frame:dims");
    const float left = step.weight();
    CHECK((left == 3 || left == 4));
    step.call();
    CHECK(step.weight() == left + 1);
  }
}

TEST_CASE("types of buffers are checked when they are made", "[plugin]") {
  for (const std::string name : {"frames", "buffered"}) {
    for (const std::string& fault : kTypeFaults) {
      check_call(name, "allocate:" + fault, entry_of(fault, "buffer_allocate"));
      check_call(name, "import:" + fault, entry_of(fault, "buffer_import_host"));
    }
  }
}

TEST_CASE("a type mismatch names both types", "[plugin]") {
  const Step step("buffered");
  const std::string tail = test::spoiled_suffix();
  const auto message = [&](const std::string& fault) {
    const Spoiled spoiled(fault);
    return test::backend_error([&] { step.call(); });
  };
  CHECK(message("output:dtype") ==
        "buffered: execute broke the boundary: output 0 is int32[2] but must be float32[2]" + tail);
  CHECK(message("output:dims") ==
        "buffered: execute broke the boundary: output 0 is float32[3] but must be float32[2]" +
            tail);
  CHECK(message("update:rank") ==
        "buffered: execute broke the boundary: update 0 is float32[1,2] but must be float32[2]" +
            tail);
  CHECK(message("output:size") ==
        "buffered: buffer_info broke the boundary: float32[2] has 8 bytes, not 12" + tail);
  CHECK(message("output:rank_absurd") ==
        "buffered: buffer_info broke the boundary: dims has 2305843009213693952 axes, more than "
        "64" + tail);
  CHECK(message("output:dims_null") ==
        "buffered: buffer_info broke the boundary: dims has 1 axes at the address null" + tail);
}

TEST_CASE("views of a frame belong to the host", "[plugin]") {
  for (const std::string way :
       {"dtype", "rank", "dims", "data", "dim", "input_dim", "input_rank"}) {
    check_call("frames", "frame:" + way, "frame_run broke the boundary: changed a view");
  }
}

TEST_CASE("handles of results are checked", "[plugin]") {
  for (const std::string name : {"buffered", "later"}) {
    check_call(name, "handle:none", "execute broke the boundary: succeeded without a buffer");
    check_call(name, "handle:update_none", "execute broke the boundary: replaced the buffer");
    check_call(name, "handle:update_replaced", "execute broke the boundary: replaced the buffer");
    for (const std::string way : {"input", "state", "update"}) {
      check_call(name, "handle:" + way,
                 "execute broke the boundary: gave the buffer of another value for output 0");
    }
  }
}

TEST_CASE("functions of the table that throw are errors", "[plugin]") {
  for (const std::string entry : {"buffer_allocate", "buffer_import_host", "frame_create"}) {
    check_call("frames", "throw:" + entry, entry + " broke the boundary: threw an exception");
  }
  for (const std::string entry : {"buffer_info", "frame_run", "error_read"}) {
    check_call("frames", "throw:" + entry, entry + " broke the boundary: threw an exception");
  }
  for (const std::string entry : {"buffer_info", "execute", "buffer_copy_to_host", "error_read"}) {
    check_call("buffered", "throw:" + entry, entry + " broke the boundary: threw an exception");
  }
  check_call("later", "throw:event_wait", "event_wait broke the boundary: threw an exception");
}

TEST_CASE("functions that succeed without a handle are errors", "[plugin]") {
  for (const std::string entry : {"buffer_allocate", "buffer_import_host"}) {
    check_call("frames", "null:" + entry,
               entry + " broke the boundary: succeeded without a buffer");
  }
}

TEST_CASE("copies to the host have the size of the tensor", "[plugin]") {
  for (const std::string way : {"more", "fewer", "untouched"}) {
    check_call("buffered", "copy." + way, "buffer_copy_to_host broke the boundary: gave ");
  }
}

TEST_CASE("a variable whose buffer breaks the rules is not lost", "[plugin]") {
  const Step step("frames");
  step.call();
  for (const std::string fault : {"copy.more", "copy.untouched", "throw:buffer_copy_to_host"}) {
    const Spoiled spoiled(fault);
    CHECK_THAT(test::backend_error([&] { get_value(step.w); }),
               Catch::Matchers::ContainsSubstring("buffer_copy_to_host broke the boundary: "));
  }
  CHECK(step.weight() == 1);
}

TEST_CASE("work that fails or never ends is an error", "[plugin]") {
  check_call("later", "event.fails", "the device went away");
  check_call("later", "event.never", "event_wait broke the boundary: returned 1000000 times");
}

TEST_CASE("malformed error objects still become BackendErrors", "[plugin]") {
  for (const std::string name : {"frames", "buffered"}) {
    for (const std::string field : {"message", "location", "native_library", "key", "value"}) {
      for (const std::string& way : test::text_faults()) {
        check_call(name, "error." + field + ":" + way, "error_read broke the boundary: " + field);
      }
    }
    for (const std::string& way : test::array_faults()) {
      check_call(name, "error.details:" + way, "error_read broke the boundary: ");
    }
    check_call(name, "error.nodes:null", "nodes has 1 elements at the address null");
    check_call(name, "error.nodes:absurd", "nodes has 2305843009213693952 elements, more than");
    check_call(name, "error.code_ok", "jammed; at model.cpp:12; node 7; GEARS error 0; oil = low; "
                                      "error_read broke the boundary: the code 0");
    check_call(name, "error.code_unknown", "the code 4711 is none of an error");
    check_call(name, "error.untouched", "error code 0; error_read broke the boundary: ");
  }
  const Step step("frames");
  const Spoiled spoiled("error.ring");
  const std::string got = runtime::error_text<ValueError>([&] { step.call(); });
  CHECK_THAT(got, Catch::Matchers::StartsWith("frames: jammed; at model.cpp:12; node 7; GEARS"));
  CHECK(got.size() < 4000);
}

TEST_CASE("a function is not made where compiling breaks the rules", "[plugin]") {
  struct Row {
    std::string fault, fact;
  };
  std::vector<Row> rows = {
      {"throw:check", "check broke the boundary: threw an exception"},
      {"throw:compile", "compile broke the boundary: threw an exception"},
      {"throw:executable_info", "executable_info broke the boundary: threw an exception"},
      {"null:executable", "compile broke the boundary: succeeded without an executable"},
      {"check.null", "check broke the boundary: kiln_unsupported is null"},
      {"check.size", "check broke the boundary: kiln_unsupported has struct_size 2305"},
      {"check.no_size", "check broke the boundary: kiln_unsupported has struct_size 0"},
      {"stats.bindings", "executable_info broke the boundary: 18446744073709551615 is no number"},
      {"stats.bytes", "executable_info broke the boundary: 18446744073709551615 is no number"},
      {"message.level", "executable_info broke the boundary: the level 44"},
      {"counts:inputs", "executable_info broke the boundary: gave 2305843009213693952 inputs, 1 "
                        "states, 1 outputs and 1 updates but the module has 1 inputs, "},
      {"counts:states", "executable_info broke the boundary: gave 1 inputs, 2 states"},
      {"counts:outputs", "1 states, 0 outputs and 1 updates but the module has"},
      {"counts:updates", "1 outputs and 2305843009213693952 updates but the module has"},
  };
  for (const std::string& way : test::text_faults()) {
    for (const std::string field : {"op", "reason", "location"}) {
      rows.push_back({"check." + field + ":" + way, "check broke the boundary: " + field});
    }
    rows.push_back({"message.text:" + way, "executable_info broke the boundary: text"});
  }
  for (const std::string& way : test::array_faults()) {
    rows.push_back({"messages:" + way, "executable_info broke the boundary: "});
  }
  for (const Row& row : rows) {
    INFO(row.fault);
    std::string got;
    {
      const Spoiled spoiled(row.fault);
      got = test::backend_error([&] { Step step("frames"); });
    }
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring(row.fact));
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring(test::spoiled_suffix()));
    CHECK(Step("frames").call() == Array{2.f, 3.f});
  }
  CHECK(works_elsewhere());
}

TEST_CASE("bools that a backend gives are 0 or 1", "[plugin]") {
  for (const std::string name : {"frames bools", "buffered bools"}) {
    for (const std::int64_t size : {0, 1, 7, 8, 100}) {
      const Tensor x = placeholder({.shape = {None}});
      const Function f =
          function({x}, {greater(x, 0.0)}, {.name = name, .backend = fake_path("spoiled")});
      const Array fed = Array::full({size}, 1);
      const Array got = f({fed})[0];
      REQUIRE(got.dtype() == DType::Bool);
      const auto* bytes = static_cast<const unsigned char*>(got.data());
      for (std::int64_t i = 0; i < size; ++i) REQUIRE(bytes[i] == 1);
      std::vector<unsigned char> out(static_cast<std::size_t>(size) + 1, 9);
      const ArrayView view = fed.as_view();
      const MutableArrayView target{DType::Bool, out.data(), fed.dims()};
      f.call_into({&view, 1}, {&target, 1});
      for (std::int64_t i = 0; i < size; ++i) REQUIRE(out[static_cast<std::size_t>(i)] == 1);
      REQUIRE(out.back() == 9);
    }
  }
}
