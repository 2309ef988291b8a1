// Vectors are structs that NVRTC loads and stores as words of 2 to 16 bytes.
#include "backends/codegen/text/vector_memory.h"

#include "backends/codegen/text/scalar_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

void add(std::vector<std::string>& remainders, const std::string& value, std::int64_t whole) {
  const std::string rest = text(value, " % ", whole);
  if (std::find(remainders.begin(), remainders.end(), rest) == remainders.end()) {
    remainders.push_back(rest);
  }
}

/// "condition ? value : otherwise", or the value alone.
std::string if_allowed(const std::string& condition, const std::string& value,
                       const std::string& otherwise) {
  return condition.empty() ? value : text(condition, " ? ", value, " : ", otherwise);
}

}  // namespace

const char* vector_functions() {
  return R"(
namespace {
// Neighbours in memory, aligned as a whole.
template <class T, int kCount> struct alignas(sizeof(T) * kCount) Vector {
  T at[kCount];
};
template <class V, class T> V load_vector(const u8* from, s64 i) {
  V x;
  const void* first = __builtin_assume_aligned(from + i * s64(sizeof(T)), sizeof(V));
  KILN_BUILTIN(memcpy)(&x, first, sizeof(V));
  return x;
}
template <class V, class T> void store_vector(u8* to, s64 i, const V& x) {
  void* first = __builtin_assume_aligned(to + i * s64(sizeof(T)), sizeof(V));
  KILN_BUILTIN(memcpy)(first, &x, sizeof(V));
}
}  // namespace
)";
}

std::string stored_type(DType dtype) { return half_text(dtype) ? "u16" : type_text(dtype); }

std::string value_of(DType dtype, const std::string& stored) {
  const char* half = half_text(dtype);
  return half ? text(half, "_value(", stored, ")") : stored;
}

std::string stored_of(DType dtype, const std::string& value) {
  const char* half = half_text(dtype);
  return half ? text(half, "_bits(", value, ")") : value;
}

std::string VectorMemory::type(DType dtype) const {
  return text("Vector<", stored_type(dtype), ", ", elements_, ">");
}

std::string VectorMemory::load(AccessId access, const PointText& point) const {
  const DType dtype = dtype_of(access);
  return text("load_vector<", type(dtype), ", ", stored_type(dtype), ">(", point.element(access),
              ")");
}

std::string VectorMemory::guarded_load(AccessId access, const PointText& point) const {
  return if_allowed(point.condition(access), load(access, point), type(dtype_of(access)) + "{}");
}

std::string VectorMemory::guarded_element(AccessId access, const PointText& point) const {
  const std::string stored = stored_type(dtype_of(access));
  const std::string read = text("load<", stored, ">(", point.element(access), " + e)");
  return if_allowed(point.condition(access), read, stored + "(0)");
}

std::string VectorMemory::store(AccessId access, const std::string& vector,
                                const PointText& point) const {
  return text("store_vector<", type(dtype_of(access)), ", ", stored_type(dtype_of(access)), ">(",
              point.element(access), ", ", vector, ");");
}

std::string VectorMemory::store_element(AccessId access, const std::string& vector,
                                        const PointText& point) const {
  return text("store<", stored_type(dtype_of(access)), ">(", point.element(access), " + e, ",
              vector, ".at[e]);");
}

void VectorMemory::pack(const Store& store, const std::string& values, const std::string& old,
                        TextLines& lines) const {
  const DType dtype = dtype_of(store.access);
  lines.line(text(type(dtype), " packed;"));
  lines.line("#pragma unroll");
  lines.open(text("for (int e = 0; e < ", elements_, "; ++e)"));
  std::string value = values + "[e]";
  if (store.accumulate) {
    const std::string before = value_of(dtype, old + ".at[e]");
    value = apply_text(
        ir::Op::Add, dtype, dtype,
        {operand_text(ir::Op::Add, dtype, before), operand_text(ir::Op::Add, dtype, value)});
  }
  lines.line(text("packed.at[e] = ", stored_of(dtype, value), ";"));
  lines.close();
}

void VectorMemory::add_remainders(AccessId id, const PointText& point,
                                  std::vector<std::string>& remainders) const {
  const Access& access = kernel_.accesses[id];
  add(remainders, text("u64(b", access.operand.number, ")"),
      static_cast<std::int64_t>(dtype_bytes(dtype_of(id))) * elements_);
  add_remainder(access.offset, point, remainders);
  for (std::size_t axis = 0; axis + 1 < access.strides.size(); ++axis) {
    add_remainder(access.strides[axis], point, remainders);
  }
  add_remainder(access.dynamic_stride, point, remainders);
}

void VectorMemory::add_remainder(const ir::Dim& dim, const PointText& point,
                                 std::vector<std::string>& remainders) const {
  if (!dim.is_static()) add(remainders, text("u64(", point.size(dim), ")"), elements_);
}

std::string are_zero(const std::vector<std::string>& remainders) {
  std::string all;
  for (const std::string& rest : remainders) all += (all.empty() ? "" : " | ") + rest;
  return all.empty() ? "" : text("(", all, ") == 0");
}

}  // namespace kiln::codegen
