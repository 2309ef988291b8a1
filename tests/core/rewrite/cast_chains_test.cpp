// Compares chains of casts after simplification with one plain cast at a time.
#include "core/module/print.h"
#include "core/ops/build.h"
#include "core/rewrite/rules.h"
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"
#include "tests/core/rewrite/plain_casts.h"

#include <cfenv>
#include <cmath>
#include <sstream>

namespace kiln::test {
namespace {

using ir::Value;

using Chain = std::vector<DType>;

std::string name_of(const Chain& chain) {
  std::string name;
  for (const DType dtype : chain) {
    name += (name.empty() ? "" : " -> ") + std::string(dtype_name(dtype));
  }
  return name;
}

bool same(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Empty, or the first element of the chain that differs from one cast at a time.
std::string mismatch_of(const Chain& chain, const Array& found) {
  const std::vector<long double>& values = grids()[static_cast<std::size_t>(chain[0])].values;
  if (found.dtype() != chain.back()) return name_of(chain) + ": another dtype";
  if (static_cast<std::size_t>(found.size()) != values.size()) return name_of(chain) + ": size";
  for (std::size_t i = 0; i < values.size(); ++i) {
    long double want = values[i];
    for (std::size_t k = 1; k < chain.size(); ++k) want = one_cast(want, chain[k - 1], chain[k]);
    const long double got = element(found, i);
    if (same(want, got)) continue;
    std::ostringstream line;
    line.precision(21);
    line << name_of(chain) << " of " << values[i] << ": " << got << ", not " << want;
    return line.str();
  }
  return "";
}

/// Evaluates chains that begin with one dtype in one graph, after the passes of list 1.
void check_chains(const std::vector<Chain>& chains) {
  const Grid& grid = grids()[static_cast<std::size_t>(chains[0][0])];
  const Value x = placeholder(type_of(grid.elements));
  std::vector<Value> results;
  for (const Chain& chain : chains) {
    Value value = x;
    for (std::size_t k = 1; k < chain.size(); ++k) {
      // make, since ir::cast already leaves out a cast to the same dtype.
      value = ir::make(ir::Op::Cast, ir::CastAttrs{chain[k]}, {value});
    }
    results.push_back(value);
  }
  const std::vector<Array> found =
      evaluate({x}, results, {grid.elements}, tested_backend(), /*optimise=*/true);
  for (std::size_t i = 0; i < chains.size(); ++i) CHECK(mismatch_of(chains[i], found[i]) == "");
}

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

TEST_CASE("casts: single casts follow the semantics of core/ops/op.h") {
  REQUIRE(std::fegetround() == FE_TONEAREST);
  for (const DType from : all_dtypes()) {
    std::vector<Chain> chains;
    for (const DType to : all_dtypes()) chains.push_back({from, to});
    check_chains(chains);
  }
}

TEST_CASE("casts: those of arrays and of folded constants follow the same semantics") {
  for (const DType from : all_dtypes()) {
    const Grid& grid = grids()[static_cast<std::size_t>(from)];
    const auto* bytes = static_cast<const std::byte*>(grid.elements.data());
    for (const DType to : all_dtypes()) {
      CHECK(mismatch_of({from, to}, grid.elements.astype(to)) == "");
      std::vector<std::byte> folded;
      std::vector<Value> casts;
      for (std::size_t i = 0; i < grid.values.size(); ++i) {
        const auto* first = bytes + i * dtype_bytes(from);
        const Value x = ir::constant({from, {}}, {first, first + dtype_bytes(from)});
        casts.push_back(ir::make(ir::Op::Cast, ir::CastAttrs{to}, {x}));
      }
      for (const Value& y : rewrite::Simplifier().simplify(casts)) {
        const auto& constant = y.node->as<ir::ConstantAttrs>();
        folded.insert(folded.end(), constant.data.bytes->begin(), constant.data.bytes->end());
      }
      const auto count = static_cast<std::int64_t>(grid.values.size());
      CHECK(mismatch_of({from, to}, Array::copy_of(folded.data(), {count}, to)) == "");
    }
  }
}

TEST_CASE("casts: every chain of two gives the values of one cast after the other") {
  int count = 0;
  for (const DType from : all_dtypes()) {
    for (const DType middle : all_dtypes()) {
      std::vector<Chain> chains;
      for (const DType to : all_dtypes()) chains.push_back({from, middle, to});
      check_chains(chains);
      count += static_cast<int>(chains.size());
    }
  }
  CHECK(count == kDTypeCount * kDTypeCount * kDTypeCount);
}

TEST_CASE("casts: chains of three and four give the values of one cast after the other") {
  std::mt19937_64 generator(6);
  const auto any = [&] { return static_cast<DType>(generator() % kDTypeCount); };
  for (int round = 0; round < 8; ++round) {
    for (const DType from : all_dtypes()) {
      std::vector<Chain> chains;
      for (int i = 0; i < 16; ++i) chains.push_back({from, any(), any(), any()});
      for (int i = 0; i < 4; ++i) chains.push_back({from, any(), any(), any(), any()});
      check_chains(chains);
    }
  }
}

/// Whether the rule merges the two casts.
bool merges(DType from, DType middle, DType to) {
  const Value x = placeholder({from, {3}});
  const Value inner = ir::make(ir::Op::Cast, ir::CastAttrs{middle}, {x});
  const Value both = ir::make(ir::Op::Cast, ir::CastAttrs{to}, {inner});
  const Value simplified = rewrite::Simplifier().simplify({both})[0];
  return simplified == x || simplified.node->operands[0] == x;
}

TEST_CASE("casts: chains through a wider dtype are merged where that is exact") {
  struct Row {
    DType from, middle, to;
    bool merged;
  };
  const Row rows[] = {
      {DType::Int16, DType::Float32, DType::UInt8, false},  // saturates, would wrap
      {DType::Int16, DType::Float32, DType::Int32, true},
      {DType::Int16, DType::Float32, DType::Float16, true},
      {DType::UInt8, DType::Float32, DType::Int8, false},
      {DType::UInt8, DType::Float32, DType::Int16, true},
      {DType::Bool, DType::Float32, DType::Int8, true},
      {DType::Int8, DType::Bool, DType::Int32, false},  // 7 becomes 1
      {DType::Int16, DType::Int64, DType::Int8, true},  // wraps both ways
      {DType::Float16, DType::Float32, DType::Int8, true},
      {DType::Float32, DType::Float64, DType::Float16, true},
      {DType::Float64, DType::Float32, DType::Float64, false},
      {DType::Int32, DType::Float32, DType::Int64, false},  // 24 bits of 32
      {DType::Int8, DType::UInt64, DType::Float32, false},
      {DType::Float32, DType::Float64, DType::Bool, true},
  };
  for (const Row& row : rows) {
    INFO(name_of({row.from, row.middle, row.to}));
    CHECK(merges(row.from, row.middle, row.to) == row.merged);
  }
}

}  // namespace
}  // namespace kiln::test
