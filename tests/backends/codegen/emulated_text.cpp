// Macros turn loads and stores of operands into calls that report them. The text of shared memory
// is rewritten, since operators of arrays read and write its elements.
#include "tests/backends/codegen/emulated_text.h"

#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"
#include "tests/backends/codegen/row_loop_run.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace kiln::test {
namespace {

using namespace codegen;

constexpr const char* kDevice = R"(
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes)
struct Index {
  u32 x, y;
};
struct EmulatedFunctions {
  void (*wait_for_block)();
  void (*wait_for_warp)();
  u64 (*exchange)(u64 value, int distance);
  u32 (*ballot)(bool truth);
  bool (*note_global)(const void* address, s64 bytes, bool is_store);
  void (*note_shared)(const void* address, s64 bytes, bool is_store);
  void (*note_atomic)(const void* address);
};
extern "C" {
Index blockIdx, threadIdx, gridDim, blockDim;
EmulatedFunctions emulation;
}
inline void __syncthreads() { emulation.wait_for_block(); }
inline void __syncwarp() { emulation.wait_for_warp(); }
inline u32 __shfl_xor_sync(u32, u32 x, int distance) {
  return u32(emulation.exchange(x, distance));
}
inline u64 __shfl_xor_sync(u32, u64 x, int distance) { return emulation.exchange(x, distance); }
inline u32 __ballot_sync(u32, bool truth) { return emulation.ballot(truth); }
inline s32 __ffs(s32 x) { return __builtin_ffs(x); }
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
inline u32 atomicAdd(u32* at, u32 value) {
  emulation.note_atomic(at);
  const u32 old = *at;
  *at = old + value;
  return old;
}
inline void __threadfence() {}

template <class T> T noted_load(const u8* from, s64 i) {
  const bool can_load = emulation.note_global(from + i * s64(sizeof(T)), sizeof(T), false);
  return can_load ? load<T>(from, i) : T{};
}
template <class T> void noted_store(u8* to, s64 i, T x) {
  if (emulation.note_global(to + i * s64(sizeof(T)), sizeof(T), true)) store<T>(to, i, x);
}
#define load noted_load
#define store noted_store
// Vectors: a const pointer is a load's. Accesses out of bounds go to `elsewhere`.
alignas(16) static u8 elsewhere[64];
template <class T> const T* noted_vector(const T* first, s64 bytes) {
  const bool can_load = emulation.note_global(first, bytes, false);
  return can_load ? first : reinterpret_cast<const T*>(elsewhere);
}
template <class T> T* noted_vector(T* first, s64 bytes) {
  return emulation.note_global(first, bytes, true) ? first : reinterpret_cast<T*>(elsewhere);
}
#define __builtin_assume_aligned(first, bytes) noted_vector(first, bytes)

template <class T> struct SharedElement {
  T* at;
  void operator=(T x) const {
    emulation.note_shared(at, sizeof(T), true);
    *at = x;
  }
};
template <class T, int... counts> struct Shared {
  T elements[(counts * ...)];
  template <class... Index> T* at(Index... index) {
    s64 offset = 0;
    ((offset = index >= 0 && index < counts ? offset * counts + index : (__builtin_trap(), 0)),
     ...);
    return elements + offset;
  }
  template <class... Index> T get(Index... index) {
    emulation.note_shared(at(index...), sizeof(T), false);
    return *at(index...);
  }
  template <class... Index> SharedElement<T> element(Index... index) { return {at(index...)}; }
};
)";

constexpr std::string_view kShared = "static __shared__ ";
constexpr int kOtherBlocks = 3;  // of the first row of a table, and of the third one

/// An array of shared memory, as the text declares it.
struct SharedArray {
  std::string type, name;
};

std::size_t closing_bracket(const std::string& line, std::size_t opening) {
  int depth = 0;
  for (std::size_t i = opening; i < line.size(); ++i) {
    if (line[i] == '[') ++depth;
    if (line[i] == ']' && --depth == 0) return i;
  }
  throw std::runtime_error("no closing bracket: " + line);
}

/// "[i][j]" at the beginning as "i, j", and its length.
std::pair<std::string, std::size_t> read_indices(const std::string& text) {
  std::string indices;
  std::size_t end = 0;
  while (end < text.size() && text[end] == '[') {
    const std::size_t closing = closing_bracket(text, end);
    indices += (end == 0 ? "" : ", ") + text.substr(end + 1, closing - end - 1);
    end = closing + 1;
  }
  return {indices, end};
}

/// Rewrites a line that begins with kShared. Scalars stay plain variables, which are not watched.
std::string rewrite_declaration(const std::string& line, std::vector<SharedArray>& arrays) {
  const std::size_t bracket = std::min(line.find('['), line.find(';'));
  const std::size_t name = line.rfind(' ', bracket) + 1;
  arrays.push_back(
      {line.substr(kShared.size(), name - 1 - kShared.size()), line.substr(name, bracket - name)});
  const SharedArray& one = arrays.back();
  if (line[bracket] == ';') return text("static ", one.type, " ", one.name, ";\n");
  return text("Shared<", one.type, ", ", read_indices(line.substr(bracket)).first, "> ", one.name,
              ";\n");
}

/// name[i] becomes name.element(i) on the left of an assignment, else name.get(i).
void rewrite_uses(std::string& line, const std::string& name) {
  for (std::size_t at = line.find(name + "["); at != line.npos; at = line.find(name + "[", at)) {
    const std::size_t opening = at + name.size();
    const auto [indices, length] = read_indices(line.substr(opening));
    const bool is_store = line.compare(opening + length, 3, " = ") == 0;
    line.replace(opening, length, text(is_store ? ".element(" : ".get(", indices, ")"));
  }
}

std::string rewrite_shared(const std::string& functions, std::vector<SharedArray>& arrays) {
  std::istringstream lines(functions);
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.starts_with(kShared)) {
      out += rewrite_declaration(line, arrays);
      continue;
    }
    const bool is_comment = line.starts_with("//");
    for (const SharedArray& one : arrays) {
      if (!is_comment) rewrite_uses(line, one.name);
    }
    out += line + "\n";
  }
  return out;
}

/// Declares a table whose second row is that of the launch. Blocks of the rows beside it would
/// store to null.
std::string table_text(const Kernel& kernel, const std::string& arguments, int rows) {
  const std::string end = text("s32(gridDim.x) - ", kOtherBlocks);
  std::string list = text("{.first_block = 0, .blocks = ", kOtherBlocks, "}, {", arguments,
                          "points, ", kOtherBlocks, ", ", end, " - ", kOtherBlocks, "}");
  if (rows > 2) list += text(", {.first_block = ", end, ", .blocks = ", kOtherBlocks, "}");
  for (int row = 3; row < rows; ++row) list += ", {.first_block = 0x7fffffff}";
  return text("  const ", kernel.name, "_table table{{", list, "}};\n");
}

std::string poison_text(const std::string& name, const std::vector<SharedArray>& arrays) {
  std::string poison;
  for (const SharedArray& one : arrays) {
    poison += text("  __builtin_memset(&", one.name, ", 255, sizeof(", one.name, "));\n");
  }
  return text("extern \"C\" void poison_", name, "() {\n", poison, "}\n");
}

/// `call`: the call of the function, in terms of these parameters and of what `before` declares.
std::string run_text(const std::string& name, int first_block, const std::string& before,
                     const std::string& call) {
  return text("extern \"C\" const u32 first_block_", name, " = ", first_block,
              ";\nextern \"C\" void run_", name,
              "(u8* const* b, const s64* n, s64 points, s64 part_points, u8* partials, "
              "u32* arrivals, s32 step, CallBlock* call) {\n",
              before, "  ", call, ";\n}\n");
}

std::string numbered(const char* array, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text(array, "[", i, "], ");
  return out;
}

std::string launcher(const ScheduledKernel& scheduled, const std::vector<SharedArray>& arrays) {
  const Kernel& kernel = scheduled.kernel;
  const char* const parts = scheduled.schedule.split_k ? "part_points, partials, arrivals, " : "";
  const std::string arguments =
      numbered("b", kernel.operands.size()) + numbered("n", kernel.sizes.size());
  const int rows = scheduled.schedule.batch;
  if (rows > 1) {
    return poison_text(kernel.name, arrays) + run_text(kernel.name, kOtherBlocks,
                                                       table_text(kernel, arguments, rows),
                                                       text(kernel.name, "(table, step, call)"));
  }
  return poison_text(kernel.name, arrays) +
         run_text(kernel.name, 0, "",
                  text(kernel.name, "(", arguments, "points, ", parts, "step, call)"));
}

std::string launcher(const RowLoop& loop, const std::vector<SharedArray>& arrays) {
  const RowLoopRun run(loop);
  const std::string arguments = numbered("b", static_cast<std::size_t>(run.pointers())) +
                                numbered("n", static_cast<std::size_t>(run.numbers()));
  const std::string memory = loop.name + "_memory";
  const std::string first = loop.bytes == 0 ? "*bytes = 0;\n  return nullptr;"
                                            : text("*bytes = sizeof(", memory,
                                                   ");\n  return shared_memory(", memory, ");");
  return text(poison_text(loop.name, arrays), "extern \"C\" const u8* memory_", loop.name,
              "(s64* bytes) {\n  ", first, "\n}\n",
              run_text(loop.name, 0, "",
                       text(loop.name, "(", arguments, "points, part_points, step, call)")));
}

}  // namespace

std::string emulated_text(std::span<const ScheduledKernel> kernels,
                          std::span<const RowLoop> loops) {
  std::vector<SharedArray> arrays;
  std::string functions = rewrite_shared(grid_functions(kernels, loops), arrays);
  for (const ScheduledKernel& one : kernels) functions += launcher(one, arrays);
  for (const RowLoop& one : loops) functions += launcher(one, arrays);
  return text(text_prelude(TextDialect::Host), kDevice, functions);
}

std::string emulated_text(const std::string& whole, std::span<const TextFunction> functions,
                          bool finds_races) {
  constexpr std::string_view kBuiltins = "#define KILN_BUILTIN(name) name\n";
  const std::size_t shared = whole.find("\n" + std::string(kShared));
  if (!whole.starts_with(kBuiltins) || shared == whole.npos) {
    throw std::runtime_error("the text has no prelude, or no shared memory");
  }
  std::vector<SharedArray> arrays;
  std::string rest = rewrite_shared(whole.substr(shared), arrays);
  if (!finds_races) rest = "#define __shared__\n" + whole.substr(shared);
  rest += "struct CallBlock;\n";
  for (const TextFunction& one : functions) {
    rest += poison_text(one.name, arrays);
    rest += run_text(one.name, 0, "",
                     text(one.name, "(", numbered("b", static_cast<std::size_t>(one.addresses)),
                          numbered("n", static_cast<std::size_t>(one.sizes)), "points)"));
  }
  return text("#define KILN_BUILTIN(name) __builtin_##name\n",
              whole.substr(kBuiltins.size(), shared - kBuiltins.size()), "\n", kDevice, rest);
}

}  // namespace kiln::test
