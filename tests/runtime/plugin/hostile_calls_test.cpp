// Tests plugins with one fault while programs are compiled and called: the BackendError names the
// backend and the function of its table, no variable changes, and the next call works.
#include "tests/support/catch.h"

#include "runtime/host/log.h"
#include "tests/runtime/plugin/spoiled.h"

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

/// Whether the fault occurs once: existing buffers and frames are not made again; with frames, the
/// buffer of an update is inspected only after its first write.
bool makes_once(const std::string& name, const std::string& fault) {
  return fault.find("allocate") != fault.npos || fault.find("import") != fault.npos ||
         fault.find("frame_create") != fault.npos ||
         (name == "frames" && (fault.starts_with("update:") || fault == "throw:buffer_info"));
}

/// Checks that a call fails for a plugin with that fault, with a message that names the entry, and
/// that nothing else changed: for a new function and for one that was called before.
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

/// The entry that the message names: buffer_info where the buffer by itself shows the fault.
std::string entry_of(const std::string& fault, const std::string& entry) {
  const bool agrees = fault == "rank" || fault == "dims" || fault == "dtype" || fault == "wider";
  return agrees ? entry + " violated the plugin ABI: " : "buffer_info violated the plugin ABI: ";
}

}  // namespace

TEST_CASE("hostile plugin: types of results are checked without frames", "[plugin]") {
  for (const std::string& fault : kTypeFaults) {
    check_call("buffered", "output:" + fault, entry_of(fault, "execute"));
    check_call("buffered", "update:" + fault, entry_of(fault, "execute"));
    check_call("later", "output:" + fault, entry_of(fault, "execute"));
  }
}

TEST_CASE("hostile plugin: types of updates are checked with frames", "[plugin]") {
  for (const std::string& fault : kTypeFaults) {
    check_call("frames", "update:" + fault, entry_of(fault, "frame_run"));
  }
}

TEST_CASE("hostile plugin: an overwritten variable falls back to the host's value", "[plugin]") {
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

TEST_CASE("hostile plugin: types of buffers are checked when they are made", "[plugin]") {
  for (const std::string name : {"frames", "buffered"}) {
    for (const std::string& fault : kTypeFaults) {
      check_call(name, "allocate:" + fault, entry_of(fault, "buffer_allocate"));
      check_call(name, "import:" + fault, entry_of(fault, "buffer_import_host"));
    }
  }
}

TEST_CASE("hostile plugin: a type mismatch names both types", "[plugin]") {
  const Step step("buffered");
  const std::string tail = test::spoiled_suffix();
  const auto message = [&](const std::string& fault) {
    const Spoiled spoiled(fault);
    return test::backend_error([&] { step.call(); });
  };
  CHECK(message("output:dtype") ==
        "buffered: execute violated the plugin ABI: output 0 is int32[2] but must be float32[2]" +
            tail);
  CHECK(message("output:dims") ==
        "buffered: execute violated the plugin ABI: output 0 is float32[3] but must be float32[2]" +
            tail);
  CHECK(
      message("update:rank") ==
      "buffered: execute violated the plugin ABI: update 0 is float32[1,2] but must be float32[2]" +
          tail);
  CHECK(message("output:size") ==
        "buffered: buffer_info violated the plugin ABI: float32[2] has 8 bytes, not 12" + tail);
  CHECK(
      message("output:rank_absurd") ==
      "buffered: buffer_info violated the plugin ABI: dims has 2305843009213693952 axes, more than "
      "64" +
          tail);
  CHECK(message("output:dims_null") ==
        "buffered: buffer_info violated the plugin ABI: dims has 1 axes at the address null" +
            tail);
}

TEST_CASE("hostile plugin: views of a frame must not change", "[plugin]") {
  for (const std::string way :
       {"dtype", "rank", "dims", "data", "dim", "input_dim", "input_rank"}) {
    check_call("frames", "frame:" + way, "frame_run violated the plugin ABI: changed a view");
  }
}

TEST_CASE("hostile plugin: handles of results are checked", "[plugin]") {
  for (const std::string name : {"buffered", "later"}) {
    check_call(name, "handle:none", "execute violated the plugin ABI: succeeded without a buffer");
    check_call(name, "handle:update_none", "execute violated the plugin ABI: replaced the buffer");
    check_call(name, "handle:update_replaced",
               "execute violated the plugin ABI: replaced the buffer");
    for (const std::string way : {"input", "state", "update"}) {
      check_call(name, "handle:" + way,
                 "execute violated the plugin ABI: gave the buffer of another value for output 0");
    }
  }
}

TEST_CASE("hostile plugin: functions of the table that throw are errors", "[plugin]") {
  for (const std::string entry : {"buffer_allocate", "buffer_import_host", "frame_create"}) {
    check_call("frames", "throw:" + entry, entry + " violated the plugin ABI: threw an exception");
  }
  for (const std::string entry : {"buffer_info", "frame_run", "error_read"}) {
    check_call("frames", "throw:" + entry, entry + " violated the plugin ABI: threw an exception");
  }
  for (const std::string entry : {"buffer_info", "execute", "buffer_copy_to_host", "error_read"}) {
    check_call("buffered", "throw:" + entry,
               entry + " violated the plugin ABI: threw an exception");
  }
  check_call("later", "throw:event_wait", "event_wait violated the plugin ABI: threw an exception");
}

TEST_CASE("hostile plugin: success without a handle is an error", "[plugin]") {
  for (const std::string entry : {"buffer_allocate", "buffer_import_host"}) {
    check_call("frames", "null:" + entry,
               entry + " violated the plugin ABI: succeeded without a buffer");
  }
}

TEST_CASE("hostile plugin: copies to the host must have the size of the tensor", "[plugin]") {
  for (const std::string way : {"more", "fewer", "untouched"}) {
    check_call("buffered", "copy." + way, "buffer_copy_to_host violated the plugin ABI: gave ");
  }
}

TEST_CASE("hostile plugin: a variable whose buffer breaks the rules is not lost", "[plugin]") {
  const Step step("frames");
  step.call();
  for (const std::string fault : {"copy.more", "copy.untouched", "throw:buffer_copy_to_host"}) {
    const Spoiled spoiled(fault);
    CHECK_THAT(test::backend_error([&] { get_value(step.w); }),
               Catch::Matchers::ContainsSubstring("buffer_copy_to_host violated the plugin ABI: "));
  }
  CHECK(step.weight() == 1);
}

TEST_CASE("hostile plugin: work that fails or never ends is an error", "[plugin]") {
  check_call("later", "event.fails", "the device went away");
  check_call("later", "event.never", "event_wait violated the plugin ABI: returned 1000000 times");
}

TEST_CASE("hostile plugin: malformed error objects still become BackendErrors", "[plugin]") {
  for (const std::string name : {"frames", "buffered"}) {
    for (const std::string field : {"message", "location", "native_library", "key", "value"}) {
      for (const std::string& way : test::text_faults()) {
        check_call(name, "error." + field + ":" + way,
                   "error_read violated the plugin ABI: " + field);
      }
    }
    for (const std::string& way : test::array_faults()) {
      check_call(name, "error.details:" + way, "error_read violated the plugin ABI: ");
    }
    check_call(name, "error.nodes:null", "nodes has 1 elements at the address null");
    check_call(name, "error.nodes:absurd", "nodes has 2305843009213693952 elements, more than");
    check_call(name, "error.code_ok",
               "jammed; at model.cpp:12; node 7; GEARS error 0; oil = low; "
               "error_read violated the plugin ABI: the code 0");
    check_call(name, "error.code_unknown", "the code 4711 is not an error code");
    check_call(name, "error.untouched", "error code 0; error_read violated the plugin ABI: ");
  }
  const Step step("frames");
  const Spoiled spoiled("error.ring");
  const std::string got = runtime::error_text<ValueError>([&] { step.call(); });
  CHECK_THAT(got, Catch::Matchers::StartsWith("frames: jammed; at model.cpp:12; node 7; GEARS"));
  CHECK(got.size() < 4000);
}

TEST_CASE("hostile plugin: a compilation that breaks the rules makes no function", "[plugin]") {
  struct Row {
    std::string fault, message;
  };
  std::vector<Row> rows = {
      {"throw:check", "check violated the plugin ABI: threw an exception"},
      {"throw:compile", "compile violated the plugin ABI: threw an exception"},
      {"throw:executable_info", "executable_info violated the plugin ABI: threw an exception"},
      {"null:executable", "compile violated the plugin ABI: succeeded without an executable"},
      {"check.null", "check violated the plugin ABI: kiln_unsupported is null"},
      {"check.size", "check violated the plugin ABI: kiln_unsupported has struct_size 2305"},
      {"check.no_size", "check violated the plugin ABI: kiln_unsupported has struct_size 0"},
      {"stats.bindings",
       "executable_info violated the plugin ABI: 18446744073709551615 is not a count"},
      {"stats.bytes",
       "executable_info violated the plugin ABI: 18446744073709551615 is not a count"},
      {"message.level", "executable_info violated the plugin ABI: the level 44"},
      {"counts:inputs",
       "executable_info violated the plugin ABI: gave 2305843009213693952 inputs, 1 "
       "states, 1 outputs and 1 updates but the module has 1 inputs, "},
      {"counts:states", "executable_info violated the plugin ABI: gave 1 inputs, 2 states"},
      {"counts:outputs", "1 states, 0 outputs and 1 updates but the module has"},
      {"counts:updates", "1 outputs and 2305843009213693952 updates but the module has"},
  };
  for (const std::string& way : test::text_faults()) {
    for (const std::string field : {"op", "reason", "location"}) {
      rows.push_back({"check." + field + ":" + way, "check violated the plugin ABI: " + field});
    }
    rows.push_back({"message.text:" + way, "executable_info violated the plugin ABI: text"});
  }
  for (const std::string& way : test::array_faults()) {
    rows.push_back({"messages:" + way, "executable_info violated the plugin ABI: "});
  }
  for (const Row& row : rows) {
    INFO(row.fault);
    std::string got;
    {
      const Spoiled spoiled(row.fault);
      got = test::backend_error([&] { Step step("frames"); });
    }
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring(row.message));
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring(test::spoiled_suffix()));
    CHECK(Step("frames").call() == Array{2.f, 3.f});
  }
  CHECK(works_elsewhere());
}

TEST_CASE("hostile plugin: bools that a backend returns become 0 or 1", "[plugin]") {
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
