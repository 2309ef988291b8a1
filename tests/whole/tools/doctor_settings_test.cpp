// Tests the settings that kiln doctor prints, as text and as JSON.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <rapidjson/document.h>

#include <filesystem>
#include <string>

using kiln::testing::has;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

Outcome doctor_with(const std::string& variables, const std::string& options = "") {
  return run_shell(variables + " '" KILN_BINARY_DIR "/bin/kiln' doctor " + options);
}

/// The variable of that name; null if it is not listed.
const rapidjson::Value* find_named(const rapidjson::Value& list, const char* name) {
  for (const rapidjson::Value& one : list.GetArray()) {
    if (std::string(one["name"].GetString()) == name) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("kiln doctor prints threads, processors, memory, keras.json and variables") {
  const Scratch home;
  const std::string path = home.write("keras.json", R"({"floatx": "bfloat16", "learning": 1})");
  const Outcome outcome =
      doctor_with("KERAS_HOME='" + home.folder() + "' KILN_THREADS=3 KILN_THREAD=2 KILN_LOG=");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  for (const std::string& line :
       {std::string("threads: 3 (KILN_THREADS)\n"), std::string("\nprocessors: "),
        std::string(" available"), std::string("\nmemory: "),
        "\nkeras.json: " + path + "\n  " + path + " has floatx 'bfloat16', which is not one of",
        std::string("\n  unknown key, ignored: 'learning'\n"),
        "\n  KERAS_HOME = '" + home.folder() + "'\n", std::string("\n  KILN_THREADS = '3'\n"),
        std::string("\n  KILN_THREAD = '2' (read by neither Kiln nor a backend beside it; did you "
                    "mean 'KILN_THREADS'?)\n")}) {
    INFO(line);
    CHECK(has(outcome.text, line));
  }
  CHECK_FALSE(has(outcome.text, "KILN_LOG"));
  CHECK(has(doctor_with("KILN_THREADS=").text, " (available processors)\n"));
  CHECK(has(doctor_with("KILN_THREADS=many").text, "threads: KILN_THREADS is 'many' but must be"));
}

TEST_CASE("kiln doctor prints which keras.json was looked for, and its damage") {
  const Scratch home;
  const std::string path = home.path("keras.json");
  const std::string variables = "KILN_BACKEND=reference KERAS_HOME='" + home.folder() + "'";
  CHECK(has(doctor_with(variables).text, "\nkeras.json: none (" + path + " does not exist)\n"));
  CHECK(has(doctor_with("KERAS_HOME= HOME=").text,
            "\nkeras.json: none (neither KERAS_HOME nor HOME is set)\n"));
  home.write("keras.json", R"({"backend": "tens)");
  const Outcome damaged = doctor_with(variables);
  INFO(damaged.text);
  CHECK(damaged.status == 0);
  CHECK(has(damaged.text, "\nkeras.json: " + path + " is malformed at line 1, column "));
  CHECK(has(damaged.text, "\nselected: reference (KILN_BACKEND=reference)\n"));
}

TEST_CASE("kiln doctor tells which files and folders of variables cannot be written") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const struct {
    std::string setting, note;
  } rows[] = {
      {"KILN_RECORD=:step", "KILN_RECORD=:step: the folder is missing; it is DIR, DIR:NAME or "},
      {"KILN_RECORD=calls:step#0", "after # there is no number from 1"},
      {"KILN_RECORD='" + file + "/calls'",
       "cannot create files in " + file + "/calls: Not a directory"},
      {"KILN_DUMP=dump:plans", "KILN_DUMP has the unknown stage 'plans'; stages are graph, "},
      {"KILN_DUMP='" + file + "'", "cannot create the directory " + file},
      {"KILN_TRACE=/nowhere/trace.json",
       "cannot write the trace /nowhere/trace.json: No such file or directory"},
      {"KILN_TRACE='" + scratch.folder() + "'",
       "cannot write the trace " + scratch.folder() + ": Is a directory"},
      {"KILN_PROFILE=/nowhere/calls.jsonl",
       "cannot write the profile to /nowhere/calls.jsonl: No such file or directory"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = doctor_with(row.setting);
    INFO(outcome.text);
    CHECK(has(outcome.text, row.note));
  }
  const Outcome usable = doctor_with("KILN_RECORD='" + scratch.path("a/b") + ":step' KILN_TRACE='" +
                                     file + "' KILN_PROFILE='" + scratch.path("p") +
                                     "' KILN_DUMP='" + scratch.path("d") + "'");
  INFO(usable.text);
  CHECK_FALSE(has(usable.text, "cannot "));
  for (const char* name : {"a", "p", "d"}) CHECK_FALSE(std::filesystem::exists(scratch.path(name)));
}

TEST_CASE("kiln doctor: KILN_DISABLE with an unknown pass, and misspelled backends in keras.json") {
  const Outcome disabled = doctor_with("KILN_BACKEND=reference KILN_DISABLE=simplfy");
  INFO(disabled.text);
  CHECK(disabled.status == 1);
  CHECK(has(disabled.text,
            "\nreference: not usable: KILN_DISABLE has the unknown pass 'simplfy'; "
            "did you mean 'simplify'?"));
  CHECK(doctor_with("KILN_BACKEND=reference KILN_DISABLE=simplify").status == 0);
  const Scratch home;
  const std::string path =
      home.write("keras.json", R"({"backend": "referense", "kiln": {"backend": "gpu"}})");
  const Outcome misspelled =
      doctor_with("KILN_BACKEND=reference KERAS_HOME='" + home.folder() + "'");
  INFO(misspelled.text);
  CHECK(misspelled.status == 0);
  CHECK(has(misspelled.text, path + ": kiln.backend 'gpu' names no backend"));
  CHECK(has(misspelled.text,
            path + ": backend 'referense' names no backend; did you mean 'reference'?\n"));
  home.write("keras.json", R"({"backend": "tensorflow", "kiln": {"backend": "auto"}})");
  CHECK_FALSE(has(doctor_with("KILN_BACKEND=reference KERAS_HOME='" + home.folder() + "'").text,
                  "names no backend"));
}

TEST_CASE("kiln doctor --json prints the same as an object") {
  const Scratch home;
  const std::string path =
      home.write("keras.json", R"({"kiln": {"backend": "reference", "backends": {"x": {}}}})");
  const Outcome outcome =
      doctor_with("KERAS_HOME='" + home.folder() +
                      "' KERAS_BACKEND=jax KILN_THREADS=3 KILN_CPU_ISA=nonsense "
                      "KILN_LONG=\"$(printf 'a\\377b')\"",
                  "--json");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  rapidjson::Document json;
  json.Parse(outcome.text.c_str());
  REQUIRE(json.IsObject());
  CHECK(json["version"].IsString());
  CHECK(json["threads"]["count"].GetInt() == 3);
  CHECK(json["processors"]["available"].GetInt() > 0);
  CHECK(json["memory"]["total"].GetUint64() > 0);
  CHECK(json["keras_json"]["path"].GetString() == path);
  CHECK(json["keras_json"]["damage"].IsNull());
  const rapidjson::Value* engine = find_named(json["variables"], "KERAS_BACKEND");
  REQUIRE(engine != nullptr);
  CHECK(std::string((*engine)["value"].GetString()) == "jax");
  CHECK((*engine)["note"].IsNull());
  const rapidjson::Value* unknown = find_named(json["variables"], "KILN_LONG");
  REQUIRE(unknown != nullptr);
  CHECK(std::string((*unknown)["value"].GetString()) == "a\\xffb");
  CHECK((*unknown)["note"].IsString());
  const rapidjson::Value* cpu = find_named(json["backends"], "cpu");
  REQUIRE(cpu != nullptr);
  CHECK(std::string((*cpu)["state"].GetString()) == "not usable");
  CHECK(has((*cpu)["reason"].GetString(), "KILN_CPU_ISA is 'nonsense'"));
  const rapidjson::Value* reference = find_named(json["backends"], "reference");
  REQUIRE(reference != nullptr);
  CHECK(std::string((*reference)["state"].GetString()) == "usable");
  CHECK(has(json["notes"][0].GetString(), "options of 'x' are ignored"));
  CHECK(std::string(json["selected"]["name"].GetString()) == "reference");
  CHECK(json["selected"]["failure"].IsNull());
  const Outcome none = doctor_with("KILN_BACKEND=nowhere", "--json");
  CHECK(none.status == 1);
  CHECK(has(none.text, "\"failure\": \"backend: no backend 'nowhere'"));
}
