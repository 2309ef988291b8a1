// Damaged .kiln files: the text for each kind; truncated and mutated files are read or rejected.
#include "runtime/files/zip_stream.h"
#include "runtime/files/zip_writer.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/mutants.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <string>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::for_each_mutant;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

void write_archive(const std::string& path, const Members& members) {
  runtime::OutputFile file(path);
  runtime::ZipWriter archive(file);
  for (const auto& [name, contents] : members) {
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(contents))};
    archive.add(name, parts);
  }
  archive.finish();
  file.commit();
}

std::string error_of(const std::string& path) {
  const std::string shown =
      without_path(error_text<IoError>([&] { static_cast<void>(load_model(path)); }), path);
  const std::string begin = "load_model: PATH";
  return shown.starts_with(begin) ? shown.substr(begin.size()) : shown;
}

void save_small(const std::string& path) {
  const auto x = placeholder({.shape = {None}, .name = "x"});
  const auto w = variable(2, {.name = "w"});
  save_model(path, {x}, {x * w});
}

const std::string kManifest =
    R"({"format":"kiln model","version":"1","kiln":"0","inputs":[],"outputs":[],"variables":[],)"
    R"("metadata":{}})";

const struct {
  Members members;
  const char* text;
} kDamaged[] = {
    {{{"manifest.json", "{"}},
     ": manifest.json is malformed at line 1, column 2: missing a name for object member"},
    {{{"manifest.json", "[]"}}, ": manifest.json has an array where an object belongs"},
    {{{"manifest.json", "{}"}}, ": manifest.json lacks 'format'"},
    {{{"manifest.json", R"({"format":1})"}},
     ": manifest.json has a number as 'format', not a string"},
    {{{"manifest.json", R"({"format":"other"})"}}, ": manifest.json is not that of a Kiln model"},
    {{{"manifest.json", R"({"format":"kiln model","version":"2"})"}},
     ": manifest.json has version '2'; version 1 is read"},
    {{{"manifest.json", R"({"format":"kiln model","version":"1","inputs":[1]})"}},
     ": manifest.json: 'inputs' holds a number"},
    {{{"manifest.json", kManifest}}, " is no Kiln model: it has no member graph.kirb"},
    {{{"manifest.json", kManifest}, {"graph.kirb", "x"}},
     " has a damaged graph: the module is damaged: it does not begin with the magic bytes"},
};

void load_or_reject(const std::string& path) {
  try {
    static_cast<void>(load_model(path));
  } catch (const Error&) {
  }
}

Members read_archive(const std::string& path) {
  const runtime::InputFile file(path);
  const runtime::ZipFile archive(file);
  Members members;
  for (const runtime::ZipMember& member : archive.members()) {
    std::string contents(member.bytes, 0);
    runtime::ZipStream(archive, member).read(std::as_writable_bytes(std::span(contents)));
    members.emplace_back(member.name, std::move(contents));
  }
  return members;
}

/// Loads `count` mutants of a model file, and of each of its members in an archive whose checksums
/// are right, as those of the file reject nearly all others.
void load_mutants(int count) {
  const Scratch scratch;
  save_small(scratch.path("m.kiln"));
  for_each_mutant(contents_of(scratch.path("m.kiln")), count, 5, [&](const std::string& mutant) {
    load_or_reject(scratch.write("n.kiln", mutant));
  });
  Members members = read_archive(scratch.path("m.kiln"));
  for (auto& [name, contents] : members) {
    const std::string good = contents;
    for_each_mutant(good, count, 5, [&](const std::string& mutant) {
      contents = mutant;
      write_archive(scratch.path("n.kiln"), members);
      load_or_reject(scratch.path("n.kiln"));
    });
    contents = good;
  }
}

}  // namespace

TEST_CASE("model file: damaged files are rejected with the reason") {
  const Scratch scratch;
  CHECK(error_of(scratch.write("empty.kiln", "")) == " is empty");
  const std::string path = scratch.path("m.kiln");
  for (const auto& row : kDamaged) {
    write_archive(path, row.members);
    CHECK(error_of(path) == row.text);
  }
}

TEST_CASE("model file: parts that disagree") {
  const std::string input = R"("inputs":["x"])", name = R"("name":"w")";
  const std::pair<std::string, std::string> kChanges[] = {
      {name, R"("name":"v")"},
      {input, R"("inputs":["x","z"])"},
      {R"("outputs":[)", R"("outputs":["z",)"},
      {R"("variables":[)", R"("variables":[{"name":"v",)"
                           R"("trained":true},)"}};
  const char* const kTexts[] = {
      " is damaged: variable 'v' float32[] is not in its weights",
      " is damaged: its manifest names 2 inputs, but its graph has 1",
      " is damaged: its manifest names 2 outputs, but its graph has 1",
      " is damaged: its manifest names 2 variables, but its graph has 1",
  };
  const Scratch scratch;
  const std::string path = scratch.path("m.kiln");
  save_small(path);
  const Members whole = read_archive(path);
  for (std::size_t i = 0; i < std::size(kTexts); ++i) {
    Members members = whole;
    std::string& manifest = members.front().second;
    const auto& [from, to] = kChanges[i];
    REQUIRE(manifest.find(from) != std::string::npos);
    manifest.replace(manifest.find(from), from.size(), to);
    write_archive(path, members);
    CHECK(error_of(path) == kTexts[i]);
  }
  // The same bytes in place, whose checksum is that of other bytes.
  save_small(path);
  std::string renamed = contents_of(path);
  renamed.replace(renamed.find(name), name.size(), R"("name":"v")");
  scratch.write("m.kiln", renamed);
  CHECK(error_of(path).find("checksum") != std::string::npos);
}

TEST_CASE("model file: names and contents of other formats") {
  const Scratch scratch;
  const std::string path = scratch.path("m.onnx"), saved = scratch.path("m.kiln");
  CHECK(without_path(error_text<ValueError>([&] { save_small(path); }), path) ==
        "save_model: PATH ends in '.onnx'; models are written as .kiln");
  save_small(saved);
  CHECK(without_path(error_text<IoError>([&] { static_cast<void>(import_onnx(saved)); }), saved) ==
        "import_onnx: PATH is a Kiln model (.kiln), which load_model reads");
  const std::string arrays = scratch.path("a.npz");
  save_arrays(arrays, {{"a", Array(1)}});
  CHECK(without_path(error_text<IoError>([&] { static_cast<void>(import_onnx(arrays)); }),
                     arrays) == "import_onnx: PATH is no ONNX model, but a NumPy archive (.npz)");
}

TEST_CASE("model file: every third truncation is read or rejected") {
  const Scratch scratch;
  save_small(scratch.path("m.kiln"));
  const std::string good = contents_of(scratch.path("m.kiln"));
  for (std::size_t size = 0; size < good.size(); size += 3) {
    load_or_reject(scratch.write("n.kiln", good.substr(0, size)));
  }
}

TEST_CASE("model file: 500 mutants are read or rejected") { load_mutants(125); }

TEST_CASE("model file: 10,000 mutants are read or rejected", "[matrix]") { load_mutants(2500); }
