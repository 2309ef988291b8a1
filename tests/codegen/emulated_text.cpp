// Loads and stores of operands become calls that report them, by macros; the text of shared memory
// is rewritten, as its elements are read and written by the operators of arrays.
#include "tests/codegen/emulated_text.h"

#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"

#include <sstream>
#include <stdexcept>

namespace kiln::test {
namespace {

using namespace codegen;

constexpr const char* kDevice = R"(
#define __global__
#define __launch_bounds__(threads)
struct Index {
  u32 x;
};
extern "C" {
Index blockIdx, threadIdx, gridDim, blockDim;
void (*wait_for_block)();
void (*wait_for_warp)();
u64 (*exchange)(u64 value, int distance);
bool (*note_global)(const void* address, s64 bytes, bool is_store);
void (*note_shared)(const void* address, s64 bytes, bool is_store);
}
inline void __syncthreads() { wait_for_block(); }
inline void __syncwarp() { wait_for_warp(); }
inline u32 __shfl_xor_sync(u32, u32 x, int distance) { return u32(exchange(x, distance)); }
inline u64 __shfl_xor_sync(u32, u64 x, int distance) { return exchange(x, distance); }
inline u32 atomicCAS(u32* at, u32 expected, u32 value) {
  const u32 old = *at;
  if (old == expected) *at = value;
  return old;
}
inline u32 atomicExch(u32* at, u32 value) {
  const u32 old = *at;
  *at = value;
  return old;
}
inline void __threadfence() {}

template <class T> T noted_load(const u8* from, s64 i) {
  return note_global(from + i * s64(sizeof(T)), sizeof(T), false) ? load<T>(from, i) : T{};
}
template <class T> void noted_store(u8* to, s64 i, T x) {
  if (note_global(to + i * s64(sizeof(T)), sizeof(T), true)) store<T>(to, i, x);
}
#define load noted_load
#define store noted_store

template <class T> struct SharedElement {
  T* at;
  void operator=(T x) const {
    note_shared(at, sizeof(T), true);
    *at = x;
  }
};
template <class T, int count> struct Shared {
  T elements[count];
  T* at(s64 i) { return i >= 0 && i < count ? elements + i : (__builtin_trap(), elements); }
  T get(s64 i) {
    note_shared(at(i), sizeof(T), false);
    return *at(i);
  }
  SharedElement<T> operator[](s64 i) { return {at(i)}; }
};
)";

constexpr std::string_view kShared = "static __shared__ ";

/// An array of shared memory, as the text declares it.
struct SharedArray {
  std::string type, name, count;
};

/// REQUIRES: the line begins with kShared.
SharedArray read_declaration(std::string_view line) {
  const std::size_t bracket = line.rfind('['), name = line.rfind(' ', bracket) + 1;
  const std::size_t end = line.rfind(']');
  return {std::string(line.substr(kShared.size(), name - 1 - kShared.size())),
          std::string(line.substr(name, bracket - name)),
          std::string(line.substr(bracket + 1, end - bracket - 1))};
}

std::size_t closing_bracket(const std::string& line, std::size_t opening) {
  int depth = 0;
  for (std::size_t i = opening; i < line.size(); ++i) {
    if (line[i] == '[') ++depth;
    if (line[i] == ']' && --depth == 0) return i;
  }
  throw std::runtime_error("no closing bracket: " + line);
}

/// name[i] becomes name.get(i), unless it is assigned to.
void rewrite_loads(std::string& line, const std::string& name) {
  for (std::size_t at = line.find(name + "["); at != line.npos;
       at = line.find(name + "[", at + 1)) {
    const std::size_t opening = at + name.size(), closing = closing_bracket(line, opening);
    if (line.compare(closing + 1, 3, " = ") == 0) continue;
    line[closing] = ')';
    line.replace(opening, 1, ".get(");
  }
}

std::string rewrite_shared(const std::string& functions, std::vector<SharedArray>& arrays) {
  std::istringstream lines(functions);
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.starts_with(kShared)) {
      arrays.push_back(read_declaration(line));
      const SharedArray& one = arrays.back();
      out += text("Shared<", one.type, ", ", one.count, "> ", one.name, ";\n");
      continue;
    }
    const bool is_comment = line.starts_with("//");
    for (const SharedArray& one : arrays) {
      if (!is_comment) rewrite_loads(line, one.name);
    }
    out += line + "\n";
  }
  return out;
}

std::string launcher(const Kernel& kernel, const std::vector<SharedArray>& arrays) {
  std::string arguments, poison;
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) arguments += text("b[", i, "], ");
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) arguments += text("n[", i, "], ");
  for (const SharedArray& one : arrays) {
    poison += text("  __builtin_memset(&", one.name, ", 255, sizeof(", one.name, "));\n");
  }
  return text("extern \"C\" void poison_", kernel.name, "() {\n", poison, "}\n",
              "extern \"C\" void run_", kernel.name,
              "(u8* const* b, const s64* n, s64 points, s32 step, CallBlock* call) {\n  ",
              kernel.name, "(", arguments, "points, step, call);\n}\n");
}

}  // namespace

std::string emulated_text(std::span<const ScheduledKernel> kernels) {
  std::vector<SharedArray> arrays;
  std::string functions = rewrite_shared(grid_functions(kernels), arrays);
  for (const ScheduledKernel& one : kernels) functions += launcher(one.kernel, arrays);
  return text(text_prelude(TextDialect::Host), kDevice, functions);
}

}  // namespace kiln::test
