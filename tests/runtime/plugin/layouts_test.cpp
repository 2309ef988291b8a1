// Compares struct layouts of the boundary with the golden table, in C++ and in C99, without a gap
// that an unlisted field could hide in.
#include "tests/support/catch.h"

#include "backends/abi/kiln_backend.h"
#include "tests/runtime/plugin/layout_c99.h"
#include "tests/runtime/plugin/layout_golden.h"

#include <map>
#include <string>
#include <vector>

namespace {

#define STRUCT_ROW(type, bytes) {#type, nullptr, 0, bytes},
#define FIELD_ROW(type, field, offset, bytes) {#type, #field, offset, bytes},
constexpr layout_row kGolden[] = {KILN_GOLDEN_LAYOUT(STRUCT_ROW, FIELD_ROW)};
#undef STRUCT_ROW
#undef FIELD_ROW

#define STRUCT_ROW(type, bytes) {#type, nullptr, 0, sizeof(type)},
#define FIELD_ROW(type, field, offset, bytes) \
  {#type, #field, offsetof(type, field), sizeof(type::field)},
constexpr layout_row kInCpp[] = {KILN_GOLDEN_LAYOUT(STRUCT_ROW, FIELD_ROW)};
#undef STRUCT_ROW
#undef FIELD_ROW

std::string describe(const layout_row& row) {
  const std::string field = row.field == nullptr ? "" : std::string(".") + row.field;
  return row.struct_name + field + " at " + std::to_string(row.offset) + ", " +
         std::to_string(row.size) + " bytes";
}

bool is_value_type(const std::string& name) {
  return name == "kiln_string" || name == "kiln_bytes" || name == "kiln_dims" ||
         name == "kiln_array";
}

}  // namespace

TEST_CASE("plugin ABI: struct layouts equal the golden table in C++ and in C99", "[plugin]") {
  constexpr std::size_t kCount = std::size(kGolden);
  REQUIRE(kLayoutsInCCount == kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    CHECK(describe(kInCpp[i]) == describe(kGolden[i]));
    CHECK(describe(kLayoutsInC[i]) == describe(kGolden[i]));
  }
}

TEST_CASE("plugin ABI: listed fields fill their structs without a gap", "[plugin]") {
  std::map<std::string, std::size_t> filled, sizes;
  for (const layout_row& row : kGolden) {
    INFO(describe(row));
    if (row.field == nullptr) {
      sizes[row.struct_name] = row.size;
      continue;
    }
    CHECK(row.offset == filled[row.struct_name]);
    filled[row.struct_name] = row.offset + row.size;
  }
  CHECK(sizes.size() == 30);
  CHECK(filled == sizes);
}

TEST_CASE("plugin ABI: every struct but value types begins with struct_size and next", "[plugin]") {
  std::map<std::string, std::vector<std::string>> fields;
  for (const layout_row& row : kGolden) {
    if (row.field != nullptr) fields[row.struct_name].push_back(row.field);
  }
  for (const auto& [name, list] : fields) {
    INFO(name);
    if (is_value_type(name)) continue;
    REQUIRE(list.size() >= 2);
    CHECK(list[0] == "struct_size");
    CHECK(list[1] == "next");
  }
}
