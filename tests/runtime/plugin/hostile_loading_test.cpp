// Tests plugins with one fault while they are loaded, probed and given services, and names that
// belong to other plugins.
#include "tests/support/catch.h"

#include <kiln/backend.h>
#include <kiln/k.h>

#include "runtime/host/log.h"
#include "tests/runtime/plugin/scratch.h"
#include "tests/runtime/plugin/spoiled.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <sstream>

using namespace kiln;
using namespace kiln::runtime;
using test::Spoiled;

namespace {

std::vector<std::string> lines, dumps;

struct KeepLines {
  KeepLines() {
    lines.clear();
    dumps.clear();
    set_log_sink([](LogLevel, std::string_view line) { lines.emplace_back(line); });
    set_dump_receiver({[](std::string_view) { return true; },
                       [](const BackendDump& dump) { dumps.emplace_back(dump.stage); }});
  }
  ~KeepLines() {
    set_log_sink(nullptr);
    set_dump_receiver({});
  }
};

/// A copy of the plugin, which is another file to the dynamic loader.
std::string copy_of(const Scratch& scratch, const std::string& stem, const std::string& name) {
  const std::string path = scratch.path(name);
  std::filesystem::copy_file(fake_path(stem), path,
                             std::filesystem::copy_options::overwrite_existing);
  return path;
}

const Plugin& spoiled_plugin() { return open_plugin(fake_path("spoiled"), ""); }

/// Calls a program of a plugin with that fault; returns the error's message.
std::string call_spoiled(const std::string& fault) {
  const Tensor x = placeholder({.shape = {None}});
  const Function f = function({x}, {x + 1.0}, {.name = "f", .backend = fake_path("spoiled")});
  const Spoiled spoiled(fault);
  return test::backend_error([&] { f({Array{1.f, 2.f}}); });
}

}  // namespace

TEST_CASE("hostile plugin: an invalid header or table is rejected", "[plugin]") {
  struct Row {
    std::string fault, why;
  };
  std::vector<Row> rows = {
      {"api.null", "violated the plugin ABI: kiln_backend_api is null"},
      {"api.no_size", "violated the plugin ABI: kiln_backend_api has struct_size 0"},
      {"api.size", "violated the plugin ABI: kiln_backend_api has struct_size 2305843009213693952"},
      {"api.ring", "violated the plugin ABI: a chain of extensions does not end"},
      {"header.size",
       "violated the plugin ABI: kiln_backend_header has struct_size 23058430092136939"},
      {"header.required",
       "violated the plugin ABI: required_api_size is 208 but kiln_backend_api has "
       "200 bytes"},
      {"query.code", "rejected the host with code 4711 and without a reason"},
      {"query.utf8", "rejected the host: caf\\xe9"},
      {"called:Not a name", "reports the invalid name 'Not a name'"},
      {"called:" + std::string(65, 'x'), "reports the invalid name '" + std::string(65, 'x') + "'"},
  };
  for (const std::string entry :
       {"error_read", "error_destroy", "instance_create", "instance_destroy", "compile",
        "executable_info", "executable_destroy", "buffer_allocate", "buffer_import_host",
        "buffer_copy_to_host", "buffer_info", "buffer_destroy", "execute", "event_wait",
        "event_destroy"}) {
    rows.push_back({"missing:" + entry, "lacks required functions: " + entry});
  }
  for (const std::string& way : test::text_faults()) {
    for (const std::string field : {"name", "version", "build_id", "toolchain"}) {
      rows.push_back({"header." + field + ":" + way, "violated the plugin ABI: " + field});
    }
  }
  const Scratch scratch;
  int copies = 0;
  for (const Row& row : rows) {
    INFO(row.fault);
    const std::string path = copy_of(scratch, "spoiled", text("copy", ++copies, ".so"));
    const Spoiled spoiled(row.fault);
    CHECK_THAT(
        test::backend_error([&] { load_backend(path); }),
        Catch::Matchers::StartsWith(text("load_backend: backend plugin '", path, "' ", row.why)));
    CHECK(load_backend(fake_path("adder")) == fake_path("adder"));
  }
}

TEST_CASE("hostile plugin: an instance whose creation breaks the rules is rejected", "[plugin]") {
  const auto message = [](const std::string& fault) {
    const Spoiled spoiled(fault);
    return test::backend_error([] { Instance::create(spoiled_plugin()); });
  };
  CHECK(message("throw:instance_create") ==
        "instance_create violated the plugin ABI: threw an exception" + test::spoiled_suffix());
  CHECK(message("null:instance") ==
        "instance_create violated the plugin ABI: succeeded without an instance" +
            test::spoiled_suffix());
  CHECK(Instance::create(spoiled_plugin())->name() == "spoiled");
}

TEST_CASE("hostile plugin: reports of probe and op table are checked", "[plugin]") {
  const InstancePtr instance = Instance::create(spoiled_plugin());
  std::vector<std::string> probes = {"probe.flood", "throw:probe"};
  std::vector<std::string> tables = {"throw:op_table"};
  for (const std::string& way : test::text_faults()) {
    probes.push_back("probe.reason:" + way);
    probes.push_back("probe.detail:" + way);
    tables.push_back("ops.name:" + way);
  }
  for (const std::string& way : test::array_faults()) tables.push_back("ops:" + way);
  for (const std::string& fault : probes) {
    INFO(fault);
    const Spoiled spoiled(fault);
    const std::string got = test::backend_error([] { probe(spoiled_plugin()); });
    CHECK_THAT(got, Catch::Matchers::StartsWith("probe violated the plugin ABI: "));
    CHECK_THAT(got, Catch::Matchers::EndsWith(test::spoiled_suffix()));
  }
  for (const std::string& fault : tables) {
    INFO(fault);
    const Spoiled spoiled(fault);
    const std::string got = test::backend_error([&] { instance->op_table(); });
    CHECK_THAT(got, Catch::Matchers::StartsWith("op_table violated the plugin ABI: "));
    CHECK_THAT(got, Catch::Matchers::EndsWith(test::spoiled_suffix()));
  }
  CHECK(probe(spoiled_plugin()).details == std::vector<std::string>{"it turns"});
  CHECK(instance->op_table().at(0).name == "add");
  const KeepLines keep;
  const Spoiled spoiled("probe.no_context");
  CHECK(probe(spoiled_plugin()).score == 1);
  CHECK(lines == std::vector<std::string>{"kiln: error: backend: probe lost its context"});
}

TEST_CASE("hostile plugin: destroying functions that throw are logged", "[plugin]") {
  for (const std::string entry :
       {"instance_shutdown", "instance_destroy", "executable_destroy", "frame_destroy",
        "buffer_destroy", "event_destroy", "error_destroy"}) {
    INFO(entry);
    const KeepLines keep;
    {
      const Spoiled spoiled("throw:" + entry);
      Instance::create(spoiled_plugin())->allocate(DType::Float32, {});
      for (const std::string name : {"frames", "later"}) {
        const Tensor x = placeholder({.shape = {None}});
        const Function f =
            function({x}, {x + 1.0}, {.name = name, .backend = fake_path("spoiled")});
        if (entry != "error_destroy") CHECK(f({Array{1.f}})[0] == Array{2.f});
        if (entry == "error_destroy") CHECK_THROWS_AS(f({Array{1.f}}), BackendError);
      }
    }
    REQUIRE_FALSE(lines.empty());
    CHECK(lines[0] == text("kiln: error: backend: ", entry,
                           " violated the plugin ABI: threw an exception", test::spoiled_suffix()));
  }
}

TEST_CASE("hostile plugin: destructors that throw do not end the host", "[plugin]") {
  const std::string path = fake_path("loose");
  Instance::create(open_plugin(path, ""))->import_copy(nullptr, DType::Float32, {{0}});
  for (const std::string name : {"frame", "host_frame", "execute", "fail"}) {
    INFO(name);
    const Tensor x = placeholder({.shape = {None}});
    const Function f = function({x}, {x + 1.0}, {.name = name, .backend = path});
    if (name == "fail") CHECK_THROWS_AS(f({Array{1.f}}), BackendError);
    if (name != "fail") CHECK(f({Array{1.f}})[0] == Array{2.f});
  }
}

TEST_CASE("hostile plugin: invalid arguments of log are logged", "[plugin]") {
  std::vector<std::string> faults = {"log.level"};
  for (const std::string& way : test::text_faults()) {
    for (const std::string field : {"component", "message", "key", "value"}) {
      faults.push_back("log." + field + ":" + way);
    }
  }
  for (const std::string& way : test::array_faults()) faults.push_back("log.fields:" + way);
  for (const std::string& fault : faults) {
    INFO(fault);
    const KeepLines keep;
    CHECK(call_spoiled(fault) == "no error");
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Catch::Matchers::StartsWith("kiln: error: backend spoiled: log was called "
                                                     "with invalid arguments: "));
  }
  const KeepLines keep;
  CHECK(call_spoiled("host.no_context") == "no error");
  CHECK(lines == std::vector<std::string>{"kiln: warning: backend (without its context)/gears: "
                                          "slipping (oil=low)"});
}

TEST_CASE("hostile plugin: invalid arguments of dump are logged", "[plugin]") {
  std::vector<std::string> faults = {"dump.null", "dump.no_size", "dump.bytes:null",
                                     "dump.bytes:absurd"};
  for (const std::string& way : test::text_faults()) {
    for (const std::string field : {"label", "stage", "name", "media_type"}) {
      faults.push_back("dump." + field + ":" + way);
    }
  }
  for (const std::string& fault : faults) {
    INFO(fault);
    const KeepLines keep;
    CHECK(call_spoiled(fault) == "no error");
    CHECK(dumps.empty());
    REQUIRE_FALSE(lines.empty());
    CHECK_THAT(lines.back(), Catch::Matchers::StartsWith("kiln: error: backend spoiled: dump was "
                                                         "called with invalid arguments: "));
  }
  const KeepLines keep;
  CHECK(call_spoiled("dump") == "no error");
  CHECK(dumps == std::vector<std::string>{"asm"});
}

TEST_CASE("hostile plugin: a parallel loop with a broken body is the loop's error", "[plugin]") {
  const KeepLines keep;
  CHECK(call_spoiled("parallel_for.null") == text("f: the host returned 3", "; at model.cpp:12",
                                                  "; node 7; GEARS error 0; oil = low",
                                                  test::spoiled_suffix()));
  CHECK_THAT(lines.at(0), Catch::Matchers::EndsWith("parallel_for was called with invalid "
                                                    "arguments: the body is null"));
  CHECK_THAT(call_spoiled("parallel_for.throws"),
             Catch::Matchers::StartsWith("f: the host returned 13;"));
  CHECK_THAT(lines.back(), Catch::Matchers::EndsWith("the body threw an exception"));
}

TEST_CASE("hostile plugin: host calls with broken arguments are errors of the call", "[plugin]") {
  std::vector<std::string> faults = {"host_call.null",
                                     "host_call.size",
                                     "host_call.no_size",
                                     "host_call.payload:null",
                                     "host_call.payload:absurd",
                                     "view.dtype",
                                     "view.negative",
                                     "view.rank",
                                     "view.dims",
                                     "view.data",
                                     "host_call.no_output",
                                     "host_call.other_dims",
                                     "host_call.other_dtype"};
  for (const std::string& way : test::text_faults()) faults.push_back("host_call.name:" + way);
  for (const std::string& way : test::array_faults()) {
    faults.push_back("host_call.inputs:" + way);
    faults.push_back("host_call.outputs:" + way);
  }
  for (const std::string& fault : faults) {
    INFO(fault);
    CHECK_THAT(call_spoiled(fault), Catch::Matchers::StartsWith("f: the host returned 3;"));
  }
  for (const std::string fault : {"host_call.unknown", "host_call.sizing"}) {
    CHECK_THAT(call_spoiled(fault), Catch::Matchers::StartsWith("f: the host returned 12;"));
  }
  std::ostringstream printed;
  std::streambuf* before = std::cout.rdbuf(printed.rdbuf());
  CHECK(call_spoiled("host_call") == "no error");
  std::cout.rdbuf(before);
  CHECK(printed.str() == "msg [1.]\n");
}

// ---- Names ----

TEST_CASE("plugin names: each means the file beside the library, whatever others say", "[plugin]") {
  const Scratch scratch;
  const std::string path = copy_of(scratch, "spoiled", "impostor.so");
  const std::string real = std::filesystem::canonical(path);
  {
    const Spoiled spoiled("called:reference");
    CHECK(load_backend(path) == real);
  }
  CHECK(open_plugin(path, "").name == "reference");
  CHECK(load_backend("reference") == "reference");
  const Plugin& own = open_plugin("reference", "");
  CHECK(own.path == text(plugin_directories().back(), "/libkiln_reference.so"));
  CHECK(&own != &open_plugin(path, ""));
  CHECK(&open_plugin(own.path, "") == &own);

  const KerasBackend environment(std::nullopt);
  set_backend(path);
  CHECK(backend() == real);
  CHECK(&current_instance()->plugin() == &open_plugin(path, ""));
  set_backend("reference");
  CHECK(backend() == "reference");
  CHECK(&current_instance()->plugin() == &own);

  std::vector<std::string> listed;
  for (const BackendDescription& one : list_backends()) {
    if (one.name == "reference") CHECK(one.path == own.path);
    if (one.name == real) CHECK(one.path == real);
    listed.push_back(one.name);
  }
  CHECK(std::count(listed.begin(), listed.end(), "reference") == 1);
  CHECK(std::count(listed.begin(), listed.end(), real) == 1);
}

TEST_CASE("plugin names: the name of a plugin elsewhere is unknown", "[plugin]") {
  load_backend(fake_path("adder"));
  CHECK_THAT(test::backend_error([] { load_backend("adder"); }),
             Catch::Matchers::StartsWith("load_backend: no backend 'adder'; found: "));
}

TEST_CASE("plugin names: a file beside the library is selected by name only with that header",
          "[plugin]") {
  const Scratch scratch;
  const std::string beside = plugin_directories().front() + "/libkiln_zz_beside.so";
  const std::string elsewhere = copy_of(scratch, "spoiled", "elsewhere.so");
  struct Removed {
    std::string path;
    ~Removed() { ::unlink(path.c_str()); }
  } const removed{beside};
  std::filesystem::copy_file(fake_path("spoiled"), beside);
  CHECK(load_backend(beside) == beside);  // it calls itself "spoiled"
  CHECK(test::backend_error([] { load_backend("zz_beside"); }) ==
        text("load_backend: backend plugin '", beside, "' reports the name 'spoiled'"));
  ::unlink(beside.c_str());
  if (::link(elsewhere.c_str(), beside.c_str()) != 0) return;  // another file system
  const Spoiled spoiled("called:zz_beside");
  CHECK(load_backend(elsewhere) == "zz_beside");  // it is the same file
  CHECK(load_backend("zz_beside") == "zz_beside");
  CHECK(&open_plugin("zz_beside", "") == &open_plugin(elsewhere, ""));
}
