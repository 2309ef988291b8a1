// Tests the metadata of weights: what save_weights writes, and what readers see of a file.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cstring>

namespace kiln {
namespace {

using testing::contents_of;
using testing::error_text;
using testing::Scratch;

/// A file of that header without tensors.
std::string metadata_file(const std::string& header) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header;
}

}  // namespace

TEST_CASE("metadata: the bytes of a file, and the texts that come back") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  save_weights(path, {}, {.metadata = {{"b", "2"}, {"a", "é \"1\"\n"}}});
  std::string header = "{\"__metadata__\":{\"a\":\"é \\\"1\\\"\\n\",\"b\":\"2\"}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(contents_of(path) == metadata_file(header));
  CHECK(weights_metadata(path) == WeightsMetadata{{"a", "é \"1\"\n"}, {"b", "2"}});
  const Variable w = variable(Array{1.f}, {.name = "w"});
  save_weights(path, {w}, {.metadata = {{"a", ""}}});
  set_value(w, {0});
  CHECK(load_weights(path, {w}).unused.empty());
  CHECK(get_value(w) == Array{1.f});
  CHECK(weights_metadata(path) == WeightsMetadata{{"a", ""}});
  save_weights(path, {w});
  CHECK(weights_metadata(path).empty());
}

TEST_CASE("metadata: files of other programs") {
  const Scratch scratch;
  const auto read = [&](const std::string& header) {
    return weights_metadata(scratch.write("w", metadata_file(header)));
  };
  CHECK(read("{}").empty());
  CHECK(read(R"({"__metadata__":null})").empty());
  CHECK(read(R"({"__metadata__":{"format":"pt","":"x"}})") ==
        WeightsMetadata{{"", "x"}, {"format", "pt"}});
  CHECK(read(R"({"__metadata__":{"a":"1","b":"2","a":"3"}})") ==
        WeightsMetadata{{"a", "3"}, {"b", "2"}});
}

TEST_CASE("metadata: a check that throws rejects the file, and nothing changes") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const Variable w = variable(Array{1.f}, {.name = "w"});
  save_weights(path, {w}, {.metadata = {{"step", "3"}}});
  set_value(w, {5});
  WeightsMetadata seen;
  const auto check = [&](const WeightsMetadata& metadata) {
    seen = metadata;
    throw ValueError("mine", "step", "step is old");
  };
  CHECK(error_text<ValueError>([&] { load_weights(path, {w}, {.check = check}); }) ==
        "mine: step is old");
  CHECK(seen == WeightsMetadata{{"step", "3"}});
  CHECK(get_value(w) == Array{5.f});
  load_weights(path, {w}, {.check = [](const WeightsMetadata&) {}});
  CHECK(get_value(w) == Array{1.f});
}

TEST_CASE("metadata: misuse") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  for (const WeightsMetadata& metadata : {WeightsMetadata{{"a\xff", "x"}}, {{"a?", "\xff"}}}) {
    const std::string message =
        error_text<ValueError>([&] { save_weights(path, {}, {.metadata = metadata}); });
    CHECK(message.starts_with("save_weights: the key or the text of metadata 'a"));
    CHECK(message.ends_with(" is not UTF-8"));
  }
  CHECK(scratch.files() == 0);
  CHECK(error_text<IoError>([&] { weights_metadata(path); }) ==
        "weights_metadata: " + path + " cannot be opened: No such file or directory");
}

}  // namespace kiln
