// Tests host values that are converted to a dtype: casts of every pair of dtypes, numbers that an
// integer dtype cannot hold, and bytes of bools other than 0 and 1, through every entry.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <array>
#include <cmath>
#include <cstring>
#include <functional>

namespace kiln::test {
namespace {

using testing::error_text;
using testing::throws;

Function compile(const Tensors& inputs, const Tensors& outputs,
                 const std::vector<UpdateOp>& updates = {}) {
  return function(inputs, outputs, {.updates = updates, .name = "f", .backend = tested_backend()});
}

Tensor vector_of(DType dtype) {
  return placeholder({.shape = {None}, .dtype = dtype, .name = "x"});
}

/// An entry into the graph: converts a host value to a tensor of that dtype.
struct Entry {
  const char* name;
  Array (*value)(const Array& given, DType dtype);
  std::string (*described)(const std::string& index, const std::string& value, DType dtype);
};

std::string argument(const std::string& call, const std::string& index, const std::string& value,
                     DType dtype) {
  return call + index + " is " + value + ", which " + std::string(dtype_name(dtype)) +
         " cannot hold";
}

Variable fresh(const Array& given, DType dtype) {
  return variable(Array::zeros(given.dims()), {.dtype = dtype});
}

const Entry kEntries[] = {
    {"a feed",
     [](const Array& given, DType dtype) {
       const Tensor x = vector_of(dtype);
       return compile({x}, {x})({given})[0];
     },
     [](const std::string& index, const std::string& value, DType dtype) {
       const std::string name(dtype_name(dtype));
       return "f: inputs[0] (x " + name + "[x.0]) was fed " + value + " at " + index + ", which " +
              name + " cannot hold";
     }},
    {"a vector of arrays",
     [](const Array& given, DType dtype) {
       const Tensor x = vector_of(dtype);
       return compile({x}, {x})(std::vector<Array>{given})[0];
     },
     [](const std::string& index, const std::string& value, DType dtype) {
       const std::string name(dtype_name(dtype));
       return "f: inputs[0] (x " + name + "[x.0]) was fed " + value + " at " + index + ", which " +
              name + " cannot hold";
     }},
    {"variable",
     [](const Array& given, DType dtype) { return get_value(variable(given, {.dtype = dtype})); },
     [](const std::string& index, const std::string& value, DType dtype) {
       return argument("variable: value", index, value, dtype);
     }},
    {"constant",
     [](const Array& given, DType dtype) { return eval(constant(given, {.dtype = dtype})); },
     [](const std::string& index, const std::string& value, DType dtype) {
       return argument("constant: value", index, value, dtype);
     }},
    {"set_value",
     [](const Array& given, DType dtype) {
       const Variable w = fresh(given, dtype);
       set_value(w, given);
       return get_value(w);
     },
     [](const std::string& index, const std::string& value, DType dtype) {
       return argument("set_value: value", index, value, dtype);
     }},
    {"batch_set_value",
     [](const Array& given, DType dtype) {
       const Variable w = fresh(given, dtype);
       batch_set_value({{w, given}});
       return get_value(w);
     },
     [](const std::string& index, const std::string& value, DType dtype) {
       return argument("batch_set_value: tuples[0]", index, value, dtype);
     }},
    {"update",
     [](const Array& given, DType dtype) { return eval(update(fresh(given, dtype), given)); },
     [](const std::string& index, const std::string& value, DType dtype) {
       return argument("update: new_x", index, value, dtype);
     }},
};

constexpr DType kIntegers[] = {DType::Int8,  DType::Int16,  DType::Int32,  DType::Int64,
                               DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64};

/// The limits of an integer dtype.
struct Limits {
  long double low, high;
};
Limits limits_of(DType dtype) {
  const bool is_signed = dtype <= DType::Int64 && dtype != DType::Bool;
  const int bits = static_cast<int>(8 * dtype_bytes(dtype)) - (is_signed ? 1 : 0);
  return {is_signed ? -std::ldexp(1.0L, bits) : 0, std::ldexp(1.0L, bits) - 1};
}

/// Numbers around the limits of every integer dtype, infinities and NaN.
std::vector<double> grid() {
  std::vector<double> values{0,     -0.0,         0.5,           -0.5,         -0.999,       1,
                             -1,    1.9,          -1.9,          3e5,          -3e5,         1e30,
                             -1e30, double{kInf}, -double{kInf}, double{kNaN}, -double{kNaN}};
  for (const DType dtype : kIntegers) {
    for (const long double limit : {limits_of(dtype).low, limits_of(dtype).high}) {
      const auto near = static_cast<double>(limit);
      for (const double value : {near, near - 1, near + 1, near - 0.5, near + 0.5,
                                 std::nextafter(near, -1e300), std::nextafter(near, 1e300)}) {
        values.push_back(value);
      }
    }
  }
  return values;
}

bool holds(DType dtype, double value) {
  const auto whole = static_cast<long double>(std::trunc(value));
  return whole >= limits_of(dtype).low && whole <= limits_of(dtype).high;
}

}  // namespace

TEST_CASE("host values: floats become integers as NumPy casts them, or are errors", "[k]") {
  for (const DType dtype : kIntegers) {
    for (const DType from : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
      for (const double number : grid()) {
        const Array given = Array{7., number}.astype(from);
        const double value = given.astype(DType::Float64).at<double>(1);
        INFO(dtype_name(from) << " to " << dtype_name(dtype) << ": " << value);
        if (!holds(dtype, value)) {
          CHECK_THROWS_AS(variable(given, {.dtype = dtype}), ValueError);
          continue;
        }
        const Array taken = get_value(variable(given, {.dtype = dtype}));
        // Exact: a double holds the truncated number, and float64 returns it.
        CHECK(taken.astype(DType::Float64).at<double>(1) == std::trunc(value) + 0.0);
      }
    }
  }
}

TEST_CASE("host values: integers become integers that hold them, or are errors", "[k]") {
  for (const DType from : kIntegers) {
    for (const DType dtype : kIntegers) {
      const auto [low, high] = limits_of(from);
      for (const long double number : {low, high, 0.0L, 1.0L, 100.0L, 127.0L}) {
        const Array given = number < 0 ? Array{static_cast<std::int64_t>(number)}.astype(from)
                                       : Array{static_cast<std::uint64_t>(number)}.astype(from);
        const bool fits = number >= limits_of(dtype).low && number <= limits_of(dtype).high;
        INFO(dtype_name(from) << " to " << dtype_name(dtype) << ": "
                              << static_cast<double>(number));
        if (fits) {
          CHECK(get_value(variable(given, {.dtype = dtype})).astype(from) == given);
        } else {
          CHECK_THROWS_AS(variable(given, {.dtype = dtype}), ValueError);
        }
      }
    }
  }
}

TEST_CASE("host values: every entry casts, and names index and value of a misfit", "[k]") {
  struct Misfit {
    Array given;
    const char *index, *value;
    DType dtype;
  };
  const Misfit misfits[] = {
      {f32({3}, {1, kNaN, kInf}), "[1]", "nan", DType::Int32},
      {f32({2}, {1, -kInf}), "[1]", "-inf", DType::Int64},
      {f32({1}, {256}), "[0]", "256", DType::UInt8},
      {Array{0., -1.5}, "[1]", "-1.5", DType::UInt16},
      {Array{0.1, 1e20}, "[1]", "1e+20", DType::UInt64},
      {f32({2}, {0.1f, 3e9f}), "[1]", "3e+09", DType::Int32},
      {i32({2}, {0, -129}), "[1]", "-129", DType::Int8},
      {Array{~std::uint64_t{0}}, "[0]", "18446744073709551615", DType::Int64},
      {Array{70000.f}.astype(DType::BFloat16), "[0]", "70144", DType::Int16},
  };
  for (const Entry& entry : kEntries) {
    INFO(entry.name);
    CHECK(entry.value(Array{1.9, -1.9, -0.5}, DType::Int8) == Array{1, -1, 0}.astype(DType::Int8));
    CHECK(entry.value(f32({2}, {255.9f, -0.9f}), DType::UInt8) ==
          Array{255, 0}.astype(DType::UInt8));
    CHECK(entry.value(Array{0.5, 0., double{kNaN}}, DType::Bool) == Array{true, false, true});
    CHECK(entry.value(Array{1e30, double{kInf}}, DType::Float16) ==
          f32({2}, {kInf, kInf}).astype(DType::Float16));
    CHECK(entry.value(i64({1}, {std::int64_t{1} << 62}), DType::Float32) == Array{0x1p62f});
    CHECK(entry.value(Array{true, false}, DType::Int16) == Array{1, 0}.astype(DType::Int16));
    for (const Misfit& misfit : misfits) {
      CHECK(error_text<ValueError>([&] { entry.value(misfit.given, misfit.dtype); }) ==
            entry.described(misfit.index, misfit.value, misfit.dtype));
    }
  }
}

TEST_CASE("host values: a wrong shape or dtype changes nothing", "[k]") {
  const Variable n = variable(Array{1, 2}, {.dtype = "int32", .name = "n"});
  const Variable m = variable(Array(3), {.dtype = "uint8"});
  const Tensor x = placeholder({.shape = {2, 2}, .dtype = "int32", .name = "x"});
  const Tensor s = placeholder({.shape = {}, .dtype = "int32", .name = "s"});
  const Tensor sparse = placeholder({.shape = {1, 2}, .dtype = "int8", .sparse = true});
  const Function f = compile({x, s, sparse}, {sum(x)}, {update_add(n, 1)});
  const Array good = Array::zeros({2, 2});
  const Array pair{{0.f, 300.f}};
  testing::run({
      {throws<ValueError>(), [&] { f({Array{{1.f, 2.f}, {kNaN, 4.f}}, 1, Array{{0.f, 1.f}}}); },
       "f: inputs[0] (x int32[2,2]) was fed nan at [1,0], which int32 cannot hold"},
      {throws<ValueError>(), [&] { f({good, kInf, Array{{0.f, 1.f}}}); },
       "f: inputs[1] (s int32[]) was fed inf, which int32 cannot hold"},
      {throws<ValueError>(), [&] { set_value(n, Array{0.5, 1e10}); },
       "set_value: value[1] is 1e+10, which int32 cannot hold"},
      {throws<ValueError>(), [&] { batch_set_value({{n, Array{5, 6}}, {m, Array(-1)}}); },
       "batch_set_value: tuples[1] is -1, which uint8 cannot hold"},
      {throws<ValueError>(), [&] { set_value(m, Array{kNaN, 1.f}); },
       "set_value: value has shape [2] but the variable is uint8[]"},
  });
  CHECK_THROWS_AS(f({good, 1, pair}), ValueError);
  CHECK(get_value(n) == Array{1, 2});
  CHECK(get_value(m) == Array(3).astype(DType::UInt8));
  CHECK(f({good, 1.9, Array{{0.f, 1.f}}})[0] == Array(0));
}

namespace {

/// Counts the true elements by every op that could read the byte itself.
Tensors readers(const Tensor& mask) {
  const Tensor ones = ones_like(mask, {.dtype = "int32"});
  return {sum(cast(mask, "int32")),
          cast(sum(cast(mask, "float32")), "int32"),
          sum(cast(cast(mask, "uint8"), "int32")),
          sum(switch_(mask, ones, ones * 0)),
          sum(cast(equal(mask, ones_like(mask)), "int32")),
          sum(cast(greater(mask, zeros_like(mask)), "int32")),
          sum(cast(reverse(mask, 0), "int32")),
          sum(cast(concatenate({mask, zeros_like(mask)}, {.axis = 0}), "int32"))};
}

const std::array<unsigned char, 5> kBytes{0, 255, 1, 2, 128};  // four of them are true
const std::vector<std::int64_t> kFive{5};

/// A mask of those bytes as a tensor: a function of its input, or of nothing.
struct MaskEntry {
  const char* name;
  std::function<std::vector<Array>()> counts;
};

std::vector<Array> counts_of(const Tensor& mask) { return compile({}, readers(mask))({}); }
std::vector<Array> counts_of_feed(const Array& given) {
  const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
  return compile({x}, readers(x))({given});
}
Array view() { return Array::view(kBytes.data(), kFive, DType::Bool); }
Array written() {
  Array a = Array::zeros(kFive, DType::Bool);
  std::memcpy(a.data(), kBytes.data(), kBytes.size());
  return a;
}

const MaskEntry kMaskEntries[] = {
    {"copy_of", [] { return counts_of_feed(Array::copy_of(kBytes.data(), kFive, DType::Bool)); }},
    {"a view", [] { return counts_of_feed(view()); }},
    {"an array that was written", [] { return counts_of_feed(written()); }},
    {"a copy of one that was written",
     [] {
       const Array a = written(), copy = a;  // NOLINT: a copy
       return counts_of_feed(copy);
     }},
    {"a vector of arrays",
     [] {
       const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
       return compile({x}, readers(x))(std::vector<Array>{view()});
     }},
    {"a feed of another dtype",
     [] {
       const Tensor x = placeholder({.shape = {None}, .dtype = "uint8"});
       return compile({x}, readers(cast(x, "bool")))({view()});
     }},
    {"call_into",
     [] {
       const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
       const Tensors outputs = readers(x);
       std::vector<Array> results(outputs.size(), Array(0));
       std::vector<MutableArrayView> to;
       for (Array& result : results) to.push_back({DType::Int32, result.data(), result.dims()});
       const ArrayView in[] = {{DType::Bool, kBytes.data(), kFive}};
       const Function f = compile({x}, outputs);
       f.call_into(in, to);
       f.call_into(in, to);
       return results;
     }},
    {"call_into at an odd address over its output",
     [] {
       const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
       std::array<unsigned char, 5> memory = kBytes;
       const ArrayView in[] = {{DType::Bool, memory.data(), kFive}};
       const MutableArrayView to[] = {{DType::Bool, memory.data(), kFive}};
       compile({x}, {x}).call_into(in, to);
       CHECK(memory == std::array<unsigned char, 5>{0, 1, 1, 1, 1});
       return counts_of_feed(Array::view(memory.data(), kFive, DType::Bool));
     }},
    {"variable", [] { return counts_of(variable(view(), {.dtype = "bool"})); }},
    {"variable of an array that was written",
     [] { return counts_of(variable(written(), {.dtype = "bool"})); }},
    {"constant", [] { return counts_of(constant(view(), {.dtype = "bool"})); }},
    {"set_value",
     [] {
       const Variable w = variable(Array::zeros(kFive), {.dtype = "bool"});
       set_value(w, written());
       return counts_of(w);
     }},
    {"batch_set_value",
     [] {
       const Variable w = variable(Array::zeros(kFive), {.dtype = "bool"});
       batch_set_value({{w, view()}});
       return counts_of(w);
     }},
    {"update",
     [] {
       const Variable w = variable(Array::zeros(kFive), {.dtype = "bool"});
       eval(update(w, view()));
       return counts_of(w);
     }},
    {"an update to the input",
     [] {
       const Variable w = variable(Array::zeros(kFive), {.dtype = "bool"});
       const Tensor x = placeholder({.shape = {5}, .dtype = "bool"});
       compile({x}, {}, {update(w, x)})({view()});
       return counts_of(w);
     }},
    {"values of a sparse matrix",
     [] {
       const Array indices = i64({5, 2}, {0, 0, 0, 1, 0, 2, 0, 3, 0, 4});
       const Tensor x = placeholder({.shape = {1, 5}, .sparse = true});
       const Function f = compile({x}, {sum(to_dense(x)), max(to_dense(x)) * 4});
       return f({SparseArray::of(indices, view(), {1, 5})});
     }},
    {"a partition before the last",
     [] {
       const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
       const Tensor n = sum(cast(x, "int32"));
       return compile({x}, {cast(shape(arange(n))[0], "int32"), n})({view()});
     }},
};

}  // namespace

TEST_CASE("bools: any byte but 0 counts as 1, through every entry", "[k]") {
  for (const MaskEntry& entry : kMaskEntries) {
    const std::vector<Array> counts = entry.counts();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      INFO(entry.name << ", reader " << i);
      CHECK(counts[i].astype(DType::Int32) == Array(4));
    }
  }
}

TEST_CASE("bools: arrays hold no other bytes than 0 and 1", "[k]") {
  const auto bytes = [](const Array& a) {
    const auto* from = static_cast<const unsigned char*>(a.data());
    return std::vector<unsigned char>(from, from + a.size());
  };
  const std::vector<unsigned char> clean{0, 1, 1, 1, 1};
  CHECK(bytes(Array::copy_of(kBytes.data(), kFive, DType::Bool)) == clean);
  CHECK(bytes(view().astype(DType::Bool)) == clean);
  const Array a = written(), copy = a;  // NOLINT: a copy
  CHECK(bytes(copy) == clean);
  CHECK(view().astype(DType::Int16) == Array{0, 1, 1, 1, 1}.astype(DType::Int16));
  CHECK(view().astype(DType::Float32) == Array{0.f, 1.f, 1.f, 1.f, 1.f});
  Array mine = view();
  mine.as<bool>()[0] = true;
  CHECK(bytes(mine) == std::vector<unsigned char>(5, 1));
  const Variable w = variable(written(), {.dtype = "bool"});
  CHECK(bytes(get_value(w)) == clean);
  const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
  CHECK(bytes(compile({x}, {x})({view()})[0]) == clean);
  CHECK(bytes(compile({x}, {x})({written()})[0]) == clean);
}

}  // namespace kiln::test
