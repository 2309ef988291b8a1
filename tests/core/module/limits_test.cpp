// Tests that a module is read wherever a graph was built: each kind of limit is swept up to the
// greatest size that the type rules accept, in both forms, and beyond it the type rules reject.
#include "tests/support/deep.h"
#include "tests/support/error_text.h"
#include "tests/core/module/programs.h"

#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/ops/build.h"

#include <kiln/error.h>

using namespace kiln;
using namespace kiln::ir;

namespace {

/// Vectors of unknown sizes, whose sizes a program may use.
std::vector<Value> inputs(std::size_t count) {
  std::vector<Value> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(test::placeholder("x", {DType::Float32, {Dim::fresh("x.0")}}));
  }
  return all;
}

Dim size_of(const Value& vector) { return vector.dims()[0]; }

/// Zeros of these sizes, with a guard on each.
module::Module zeros(const std::vector<Value>& inputs, const Dims& dims) {
  const Value result = full(DType::Float32, dims, 0);
  std::vector<Guard> guards;
  for (const Dim& dim : dims) guards.push_back({Guard::Kind::LessEqual, 0, dim, "negative", {}});
  return module::make_module({inputs, {result}, {}}, guards);
}

using Build = module::Module (*)(std::size_t size);

module::Module sum_of(std::size_t terms) {
  const std::vector<Value> all = inputs(terms);
  Dims sizes;
  for (const Value& input : all) sizes.push_back(size_of(input));
  return zeros(all, {total(sizes)});
}

module::Module sums_of(std::size_t terms) {
  const std::vector<Value> all = inputs(terms);
  Dim sum = 0;
  for (const Value& input : all) sum = sum + size_of(input);
  return zeros(all, {sum + 1, sum + 2});
}

module::Module product_of(std::size_t factors) {
  const std::vector<Value> all = inputs(factors);
  Dim product = 1;
  for (const Value& input : all) product = product * size_of(input);
  return zeros(all, {product});
}

module::Module products_of(std::size_t factors) {
  const std::vector<Value> all = inputs(factors / 2 + 1);
  Dim product = 1;
  for (std::size_t i = 0; i < factors / 2; ++i) product = product * size_of(all[i]);
  return zeros(all, {product, product * (factors % 2 == 0 ? Dim(3) : size_of(all.back()))});
}

module::Module rank_of(std::size_t rank) {
  const std::vector<Value> all = inputs(1);
  return zeros(all, Dims(rank, size_of(all[0])));
}

/// Each operation uses the one before twice, so that the tree has 2^depth operations.
template <DimOp op>
module::Module depth_of(std::size_t depth) {
  const std::vector<Value> all = inputs(2);
  Dim size = size_of(all[0]);
  for (std::size_t i = 0; i < depth; ++i) {
    const Dim other = size_of(all[1]) + static_cast<std::int64_t>(i % 7 + 2);
    const Dim twice = size * size_of(all[1]) + size;
    if (op == DimOp::FloorDiv) size = floor_div(twice, other);
    if (op == DimOp::Mod) size = mod(twice, other);
    if (op == DimOp::Max) size = max(twice - other * other, other);
    if (op == DimOp::Min) size = min(twice, other * other);
  }
  return zeros(all, {size, size + 1});
}

std::string round_trip(const module::Module& program) {
  const module::Encoded bytes = module::write_module(program);
  const module::Module read = module::read_module(bytes.bytes);
  if (module::write_module(read).bytes != bytes.bytes) return "other bytes";
  const std::string text = module::print_module(program);
  if (text != module::print_module(read)) return "another text of the bytes";
  if (text != module::print_module(module::parse_module(text))) return "another text";
  if (bytes.bytes.size() > 1'000'000 || text.size() > 1'000'000) return "a tree";
  return "";
}

struct Kind {
  const char* name;
  Build build;
  std::size_t limit;
  const char* error;  // beyond the limit
};

const Kind kKinds[] = {
    {"terms", sum_of, 4096,
     "broadcast: a size of the result is a sum of 4097 terms, at most 4096 are supported (x "
     "float32[])"},
    {"terms of the elements", sums_of, 255,
     "broadcast: the number of elements of the result is a sum of more than 65536 terms (x "
     "float32[])"},
    {"factors", product_of, 64, "a dimension is a product of more than 64 sizes"},
    {"factors of the elements", products_of, 64,
     "broadcast: the number of elements of the result is a product of more than 64 sizes (x "
     "float32[])"},
    {"rank", rank_of, 64, "broadcast: rank 65 exceeds 64 (x float32[])"},
    {"divisions", depth_of<DimOp::FloorDiv>, 1024,
     "a dimension nests more than 1024 divisions, remainders, maxima and minima"},
    {"remainders", depth_of<DimOp::Mod>, 1024,
     "a dimension nests more than 1024 divisions, remainders, maxima and minima"},
    {"maxima", depth_of<DimOp::Max>, 1024,
     "a dimension nests more than 1024 divisions, remainders, maxima and minima"},
    {"minima", depth_of<DimOp::Min>, 1024,
     "a dimension nests more than 1024 divisions, remainders, maxima and minima"},
    {"loops", test::nested_program, module::kMaxNesting,
     "scan: loops and conditions are nested more than 64 deep (float32[t,2], float32[2], "
     "float32[t,2])"},
};

}  // namespace

TEST_CASE("limits: what the type rules accept round-trips in both forms") {
  for (const Kind& kind : kKinds) {
    const std::size_t sizes[] = {1, 2, 33, 40, 64, 257, kind.limit};
    for (const std::size_t size : sizes) {
      if (size > kind.limit) continue;
      INFO(kind.name << " " << size);
      std::string failure;
      CHECK(test::error_on_small_stack([&] { failure = round_trip(kind.build(size)); }) == "");
      CHECK(failure == "");
    }
  }
}

TEST_CASE("limits: the type rules reject what lies beyond, by name") {
  for (const Kind& kind : kKinds) {
    INFO(kind.name);
    CHECK(testing::error_text<ValueError>([&] { kind.build(kind.limit + 1); }) == kind.error);
  }
}
