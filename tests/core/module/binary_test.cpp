// Tests the binary form: exact round trip, and damaged or malicious input.
#include "tests/support/deep.h"
#include "tests/support/error_text.h"
#include "tests/core/module/edit_bytes.h"
#include "tests/core/module/module_text.h"
#include "tests/core/module/programs.h"

#include "core/ir/scope.h"
#include "core/module/print.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/ops/build.h"

#include <kiln/error.h>

using namespace kiln;
using namespace kiln::ir;
using module::Encoded;
using module::read_module;
using module::write_module;
using test::Bytes, test::entry_of, test::get, test::set, test::sign;

namespace {

constexpr module::WriteOptions kFile{.embed_constants = true};

/// The error of reading the bytes. The C reader accepts what Kiln does, and stays within the bytes.
std::string error_of(const Bytes& bytes, std::span<const module::SideConstant> constants = {}) {
  const std::string error =
      kiln::testing::error_text<IoError>([&] { read_module(bytes, constants); });
  const std::string error_in_c = test::error_of_c_reader(bytes);
  if (error == "no error" && !error_in_c.empty()) FAIL_CHECK("the C reader fails: " + error_in_c);
  return error;
}

/// The module with the contents of a section (by position) replaced.
Bytes with_section(const Bytes& bytes, std::size_t section, const std::vector<int>& contents) {
  const auto offset = get<std::uint64_t>(bytes, entry_of(section) + 4);
  const auto size = get<std::uint64_t>(bytes, entry_of(section) + 12);
  Bytes out(bytes.begin(), bytes.begin() + static_cast<long>(offset));
  for (const int byte : contents) out.push_back(static_cast<std::byte>(byte));
  out.insert(out.end(), bytes.begin() + static_cast<long>(offset + size), bytes.end());
  set<std::uint64_t>(out, entry_of(section) + 12, contents.size());
  const auto sections = get<std::uint32_t>(out, 12);
  for (std::size_t i = section + 1; i < sections; ++i) {
    const auto old = get<std::uint64_t>(out, entry_of(i) + 4);
    set<std::uint64_t>(out, entry_of(i) + 4, old - size + contents.size());
  }
  sign(out);
  return out;
}

void append(std::vector<int>& to, const std::vector<int>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_number(std::vector<int>& to, int value) {
  for (; value > 0x7f; value >>= 7) to.push_back((value & 0x7f) | 0x80);
  to.push_back(value);
}

std::vector<int> with_length(const std::vector<int>& bytes) {
  std::vector<int> out;
  append_number(out, static_cast<int>(bytes.size()));
  append(out, bytes);
  return out;
}

constexpr std::size_t kNames = 0, kTypes = 1, kGraph = 2, kOrigins = 5;

}  // namespace

TEST_CASE("binary form: round trip") {
  const module::Module program = test::every_op_program();
  const Encoded beside = write_module(program), file = write_module(program, kFile);
  REQUIRE(beside.constants.size() == 1);
  CHECK(beside.constants[0].size == 5000);
  CHECK(file.constants.empty());
  const module::Module back = read_module(beside.bytes, beside.constants);
  CHECK((write_module(back).bytes == beside.bytes));
  CHECK((write_module(back, kFile).bytes == file.bytes));
  CHECK((write_module(read_module(file.bytes), kFile).bytes == file.bytes));
  CHECK(module::print_module(back) == module::print_module(program));
  CHECK(back.name == program.name);
  CHECK(back.state.size() == program.state.size());
  CHECK(back.guards.size() == program.guards.size());
  // Equal structure, other node identities.
  CHECK((write_module(test::every_op_program()).bytes == beside.bytes));
}

TEST_CASE("binary form: source lines can be left out") {
  const module::Module program = test::every_op_program();
  const Encoded bare = write_module(program, {.embed_constants = true, .origins = false});
  CHECK(bare.bytes.size() < write_module(program, kFile).bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bare.bytes.data()), bare.bytes.size());
  CHECK(text.find("every op.cpp") == std::string_view::npos);
  const module::Module back = read_module(bare.bytes);
  CHECK((write_module(back, {.embed_constants = true, .origins = false}).bytes == bare.bytes));
  CHECK(module::print_module(back).find(".cpp") == std::string::npos);
}

TEST_CASE("binary form: nodes that are read get new identities") {
  const Encoded encoded = write_module(test::small_program());
  const module::Module one = read_module(encoded.bytes), two = read_module(encoded.bytes);
  CHECK_FALSE(one.graph.inputs[0] == two.graph.inputs[0]);
  CHECK_FALSE(one.state[0].variable == two.state[0].variable);
  CHECK_FALSE(one.graph.inputs[0].dims()[0] == two.graph.inputs[0].dims()[0]);
}

TEST_CASE("binary form: other formats and other files are rejected by name") {
  Bytes bytes = write_module(test::small_program()).bytes;
  const Bytes good = bytes;
  CHECK(error_of({}) == "the module is damaged: it does not begin with the magic bytes");
  bytes[0] = std::byte{'k'};
  CHECK(error_of(bytes) == "the module is damaged: it does not begin with the magic bytes");
  bytes = good;
  set<std::uint16_t>(bytes, 8, 7);
  CHECK(error_of(bytes) == "the module has format 7.6, but 0.6 is read");
  bytes = good;
  for (const std::uint16_t other : {5, 7}) {
    set(bytes, 10, other);
    CHECK(error_of(bytes) == text("the module has format 0.", other, ", but 0.6 is read"));
  }
}

TEST_CASE("binary form: truncation at any byte is rejected") {
  const Bytes good = write_module(test::every_op_program(), kFile).bytes;
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(), good.begin() + static_cast<long>(size));
    if (error_of(cut) == "no error") FAIL("read when cut to " << size);
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  CHECK(error_of(longer) == "the module is damaged: it has trailing bytes");
}

TEST_CASE("binary form: every changed byte is found") {
  const Bytes good = write_module(test::every_op_program(), kFile).bytes;
  const std::size_t contents = entry_of(get<std::uint32_t>(good, 12));
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i >= contents && i % 3 != 0) continue;  // a third of them suffices for the checksum
    Bytes bytes = good;
    bytes[i] ^= std::byte{0x41};
    if (error_of(bytes) == "no error") FAIL("read with byte " << i << " changed");
  }
}

TEST_CASE("binary form: changes with valid checksums are rejected or read, never worse") {
  const Bytes good = write_module(test::nested_program(2), kFile).bytes;
  const Bytes small = write_module(test::small_program(), kFile).bytes;
  const Bytes scoped = write_module(test::scoped_program(), kFile).bytes;
  std::size_t rejected = 0;
  for (const Bytes* source : {&good, &small, &scoped}) {
    const std::size_t contents = entry_of(get<std::uint32_t>(*source, 12));
    for (std::size_t i = contents; i < source->size(); ++i) {
      for (const int change : {0x01, 0x02, 0x40, 0x80, 0xff}) {
        Bytes bytes = *source;
        bytes[i] ^= static_cast<std::byte>(change);
        sign(bytes);
        rejected += error_of(bytes) != "no error";
      }
    }
  }
  CHECK(rejected > 1000);
}

TEST_CASE("binary form: counts beyond the file are rejected before they are used") {
  const Bytes good = write_module(test::small_program()).bytes;
  const std::vector<int> huge{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
  for (const std::size_t section : {kNames, kTypes, kGraph}) {
    CHECK(error_of(with_section(good, section, huge)).find("a count of 9223372036854775807") !=
          std::string::npos);
  }
  const std::vector<int> endless(12, 0xff);
  CHECK(error_of(with_section(good, kGraph, endless)) ==
        "the module is damaged: a number is too long");
  CHECK(error_of(with_section(good, kGraph, {})) == "the module is damaged: a section ends early");
  // The tenth byte of a number holds one bit: more would be lost.
  const std::vector<int> largest{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  CHECK(error_of(with_section(good, kGraph, largest)) ==
        "the module is damaged: a count of 18446744073709551615");
  std::vector<int> larger = largest;
  larger.back() = 0x03;
  CHECK(error_of(with_section(good, kGraph, larger)) ==
        "the module is damaged: a number is too long");
  CHECK(error_of(with_section(good, kGraph, {1, 0x7f})) ==
        "the module has op 127 of another version of Kiln");
  Bytes bytes = good;
  set<std::uint64_t>(bytes, entry_of(kGraph) + 12, ~std::uint64_t{0});
  CHECK(error_of(bytes) == "the module is damaged: a section is out of bounds");
  bytes = good;
  set<std::uint64_t>(bytes, entry_of(kGraph) + 4, 0);
  CHECK(error_of(bytes) == "the module is damaged: a section is out of bounds");
  bytes = good;
  set<std::uint32_t>(bytes, entry_of(kGraph), 1);
  CHECK(error_of(bytes) == "the module is damaged: a section occurs twice");
  set<std::uint32_t>(bytes, entry_of(kGraph), 77);
  CHECK(error_of(bytes) == "the module is damaged: a section has an unknown kind");
}

TEST_CASE("binary form: name scopes are written once, and read back") {
  const Bytes bytes = write_module(test::scoped_program()).bytes;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(text.find("encoder") == text.rfind("encoder"));
  CHECK(text.find("encoder") != std::string_view::npos);
  const module::Module back = read_module(bytes);
  CHECK((write_module(back).bytes == bytes));
  CHECK(scope_path(back.origin_of(*back.graph.outputs[0].node).scope) == "encoder");
  const Bytes bare = write_module(test::scoped_program(), {.origins = false}).bytes;
  CHECK(module::print_module(read_module(bare)).find("encoder") == std::string::npos);
}

TEST_CASE("binary form: damaged name scopes are rejected") {
  const Bytes good = write_module(test::small_program()).bytes;
  // The index of a new origin: an empty file, line 0, an empty function; then its scope.
  const auto error = [&](std::vector<int> scope) {
    scope.insert(scope.begin(), {0, 0, 0, 0});
    return error_of(with_section(good, kOrigins, scope));
  };
  CHECK(error({1, 0}) == "the module is damaged: a name scope is not in the table");
  CHECK(error({0, 65}) == "the module is damaged: a count of 65");
  CHECK(error({0, 1, 1, 'a', 0, 0x80, 0x80, 0x80, 0x80, 0x10}) ==
        "the module is damaged: source line 4294967296");
  CHECK(error({0, 1, 0, 0, 1}) == "the module is damaged: the name of a scope is empty");
  CHECK(error({0, 1, 1, '\n', 0, 1}) ==
        "the module is damaged: the name of a scope has a control character");
  CHECK(error({0, 1, 1, 0xff, 0, 1}) == "the module is damaged: the name of a scope is not UTF-8");
  // 64 scopes inside each other, then an origin with another one inside the last.
  std::vector<int> deep{0, 64};
  for (int i = 0; i < 64; ++i) deep.insert(deep.end(), {1, 'a', 0, 1});
  deep.insert(deep.end(), {1, 0, 0, 0, 64, 1});
  CHECK(error(deep) == "the module is damaged: a count of 1");
}

TEST_CASE("binary form: a source line beyond 32 bits is rejected") {
  const Bytes good = write_module(test::small_program()).bytes;
  // The index of a new origin, an empty file, line 2^32.
  CHECK(error_of(with_section(good, kOrigins, {0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0})) ==
        "the module is damaged: source line 4294967296");
}

TEST_CASE("binary form: types must be those of the type rules") {
  const Bytes good = write_module(test::small_program()).bytes;
  const auto offset = get<std::uint64_t>(good, entry_of(kTypes) + 4);
  Bytes bytes = good;
  // The last type of the table is float32[] of the constant 0.5.
  const auto size = get<std::uint64_t>(good, entry_of(kTypes) + 12);
  REQUIRE(bytes[offset + size - 2] == static_cast<std::byte>(DType::Float32));
  bytes[offset + size - 2] = static_cast<std::byte>(DType::Float64);
  sign(bytes);
  CHECK(error_of(bytes) ==
        "the module is damaged: the stored type of constant differs from the inferred one");
}

TEST_CASE("binary form: constants outside of the module must exist and fit") {
  const module::Module program = test::every_op_program();
  const Encoded encoded = write_module(program);
  CHECK(error_of(encoded.bytes) ==
        "the module is damaged: a constant beside the module is missing");
  module::SideConstant shorter = encoded.constants[0];
  shorter.size -= 4;
  CHECK(error_of(encoded.bytes, std::span(&shorter, 1)).find("has 4996 bytes") !=
        std::string::npos);
}

TEST_CASE("binary form: nesting is limited") {
  const Bytes deepest = write_module(test::nested_program(module::kMaxNesting)).bytes;
  CHECK(test::error_on_small_stack([&] { read_module(deepest); }) == "");
  CHECK_THROWS_AS(write_module(test::nested_program(module::kMaxNesting + 1)), ValueError);
  // A scan whose body begins with a scan whose body ...: no parameters, one node.
  std::vector<int> node;
  for (std::size_t i = 0; i <= module::kMaxNesting; ++i) {
    std::vector<int> body{0, 1};
    body.insert(body.end(), node.begin(), node.end());
    node = {static_cast<int>(ir::def(Op::Scan).code)};
    append(node, with_length(with_length(body)));
  }
  std::vector<int> scans{1};
  append(scans, node);
  const Bytes bytes = with_section(write_module(test::small_program()).bytes, kGraph, scans);
  std::string error;
  CHECK(test::error_on_small_stack([&] { error = error_of(bytes); }) == "");
  CHECK(error == "the module is damaged: lambdas are nested too deep");
}

TEST_CASE("binary form: lengths must be those of the attributes and lambdas") {
  const Bytes small = write_module(test::small_program()).bytes;
  // A graph that begins with a node of this op with these attributes.
  const auto error_with = [&](Op op, const std::vector<int>& attributes) {
    std::vector<int> graph{1, static_cast<int>(ir::def(op).code)};
    append(graph, attributes);
    return error_of(with_section(small, kGraph, graph));
  };
  const std::string damaged = "the module is damaged: ";
  // CumSum's only field is an axis.
  CHECK(error_with(Op::CumSum, {0, 0, 0}) ==
        damaged + "the attribute list of op cum_sum ends early");
  CHECK(error_with(Op::CumSum, {2, 0, 0}) ==
        damaged + "of 2 bytes of the attribute list of op cum_sum, only 1 are used");
  CHECK(error_with(Op::CumSum, {3, 0, 0}) ==
        damaged + "the length of the attribute list of op cum_sum is 3, but 2 bytes follow");
  // A body without parameters, nodes, results and guards.
  CHECK(error_with(Op::Scan, {4, 3, 0, 0, 0}) == damaged + "a lambda ends early");
  CHECK(error_with(Op::Scan, {6, 5, 0, 0, 0, 0, 0}) ==
        damaged + "of 5 bytes of a lambda, only 4 are used");
  CHECK(error_with(Op::Scan, {5, 6, 0, 0, 0, 0, 0}) ==
        damaged + "the length of a lambda is 6, but 4 bytes follow");
}

TEST_CASE("binary form: unknown dim operations are rejected, also ones that wrap to a known one") {
  // The first section with dims begins with one operation, OPERATION(2, 1), with OPERATION as a
  // varint.
  for (const std::vector<int>& operation : std::vector<std::vector<int>>{
           {0}, {5}, {0x80, 2}, {0x81, 2}, {0x84, 2}, {0x81, 0x80, 0x80, 0x80, 0x10}}) {
    std::vector<int> types{1};
    append(types, operation);
    append(types, {4, 0, 2, 0});
    CHECK(error_of(with_section(write_module(test::small_program()).bytes, kTypes, types)) ==
          "the module is damaged: a dim has an unknown operation");
  }
}

TEST_CASE("binary form: dims that nest or grow too far are rejected, in time and stack") {
  const Bytes small = write_module(test::small_program()).bytes;
  const auto error_of_dim = [&](std::size_t operations, const std::vector<int>& first,
                                const auto& append_next) {
    std::vector<int> types;
    append_number(types, static_cast<int>(operations));
    append(types, first);
    for (std::size_t i = 0; i + 1 < operations; ++i) append_next(types, static_cast<int>(i));
    types.push_back(0);
    std::string error;
    CHECK(test::error_on_small_stack(
              [&] { error = error_of(with_section(small, kTypes, types)); }) == "");
    return error;
  };
  const std::vector<int> first{1, 0, 1, 2, 1, 0, 0, 6, 0};  // floordiv(SYMBOL 0, 3)
  // Operation i + 1 is floordiv(2 * operation i, 3).
  CHECK(error_of_dim(100'000, first,
                     [&](std::vector<int>& types, int i) {
                       types.insert(types.end(), {1, 0, 1, 4, 1, 1});
                       append_number(types, i);
                       types.insert(types.end(), {6, 0});
                     }) ==
        "the module is damaged: a dimension nests more than 1024 divisions, remainders, "
        "maxima and minima");
  // Operation i + 1 is operation i times itself, by 5.
  CHECK(error_of_dim(100, first, [&](std::vector<int>& types, int i) {
          types.insert(types.end(), {1, 0, 1, 2, 65});
          for (int factor = 0; factor < 65; ++factor) types.insert(types.end(), {1, i});
          types.insert(types.end(), {10, 0});
        }) == "the module is damaged: a count of 65");
  CHECK(error_of_dim(2, first, [&](std::vector<int>& types, int) {
          types.insert(types.end(), {1, 0, 1, 2, 1, 1, 1, 6, 0});
        }) == "the module is damaged: a dim has an operation that is not defined before");
  CHECK(error_of_dim(2, first, [&](std::vector<int>& types, int) {
          types.insert(types.end(), {1, 0, 1, 2, 1, 2, 0, 6, 0});
        }) == "the module is damaged: a dim has a factor of unknown kind");
}
