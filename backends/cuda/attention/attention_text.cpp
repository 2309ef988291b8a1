// Passes over tiles; a program instantiates them for one width.
#include "backends/cuda/attention/attention_text.h"

#include "backends/codegen/text/text_prelude.h"
#include "backends/cuda/attention/attention_tiles.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using Work = AttentionFunction::Work;

constexpr const char* kAddresses[] = {"q",  "k",     "v",        "scale", "bias",
                                      "o",  "lse",   "d_result", "dq",    "dk",
                                      "dv", "facts", "group_dq", "finite"};
constexpr const char* kSizes[] = {"t",       "s",        "d",        "e",       "divides",
                                  "causal",  "bias_row", "bias_key", "batch0",  "batch1",
                                  "batch2",  "batch3",   "stride0",  "stride1", "stride2",
                                  "stride3", "groups",   "matrices"};
static_assert(std::size(kAddresses) * 8 == sizeof(AttentionArguments::Addresses));
static_assert(std::size(kSizes) * 8 == sizeof(AttentionArguments::Sizes));

/// Keys after the last query of a tile are skipped where all operands are finite: a probability of
/// 0 then adds 0 to all sums. 0 times infinity is NaN.
constexpr const char* kFinite = R"(
inline s64 tiles_of(s64 rows) { return (rows + kTile - 1) / kTile; }

inline bool skips(const Attention& a, s64 matrix, s64 row, s64 key) {
  if (a.causal == 0 || key <= row) return false;
  const s64 tiles = tiles_of(a.s);
  if (load<u32>(a.finite, matrix * tiles + key / kTile) == 0) return false;
  if (!kIsGradient) return true;
  return load<u32>(a.finite, a.matrices * tiles + matrix * tiles_of(a.t) + row / kTile) != 0;
}

// Of a warp: the sum is 0 if the elements of up to kTile rows of a tile are finite, else NaN.
inline float zero_of(const u8* x, s64 tile, s64 rows, s64 columns) {
  const s64 tiles = tiles_of(rows), row = tile % tiles * kTile;
  const u8* const first = x + (tile / tiles * rows + row) * columns * 4;
  const s64 count = up_to_tile(rows - row) * columns;
  float sum = 0.0f;
  for (s64 i = threadIdx.x % 32; i < count; i += 32) {
    sum = fma_of(load<float>(first, i), 0.0f, sum);
  }
  return sum;
}

inline void attention_finite_tiles(const Attention& a, s64 units) {
  const s64 keys = a.matrices * tiles_of(a.s);
  const s64 tiles = keys + (kIsGradient ? a.matrices * tiles_of(a.t) : 0);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const s64 tile = unit * 8 + threadIdx.x / 32;
    if (tile >= tiles) continue;
    float sum = 0.0f;
    if (tile < keys) {
      sum = zero_of(a.v, tile, a.s, a.e);
      if (kIsGradient) sum = sum_of(sum, zero_of(a.k, tile, a.s, a.d));
    } else {
      sum = sum_of(zero_of(a.q, tile - keys, a.t, a.d), zero_of(a.d_result, tile - keys, a.t, a.e));
      sum = sum_of(sum, zero_of(a.lse, tile - keys, a.t, 1));
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      sum = sum_of(sum, exchanged(sum, distance));
    }
    if (threadIdx.x % 32 == 0) store(a.finite, tile, u32(sum == 0.0f));
  }
}
)";

constexpr const char* kForward = R"(
template <int kWidth> void attention_forward(const Attention& a, s64 units) {
  constexpr int kRows = 8;
  const s64 tiles = tiles_of(a.t);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Matrix m = matrix_of(a, unit / tiles);
    const s64 row = (tiles - 1 - unit % tiles) * kTile;  // first those that see most keys
    u8* const v = a.v + m.number * a.s * a.e * 4;
    float o[kRows][kWidth / 16], scores[kRows][4], factors[kRows];
    clear(o);
    Exponentials<kRows> exponentials;
    exponentials.clear();
    for (s64 key = 0; key < a.s; key += kTile) {
      if (skips(a, m.number, row, key)) continue;
      compute_scores(a, m, row, key, scores);
      exponentials.take(scores, factors);
      share<true>(scores);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int n = 0; n < kWidth / 16; ++n) o[i][n] = product_of(o[i][n], factors[i]);
      }
      add_combinations<kRows, kWidth>(rows_from(v, key, a.s, a.e), o);
    }
    exponentials.add_threads();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float sum = exponentials.sums[i], most = exponentials.most[i];
      const float inverse = a.s == 0 ? 0.0f : 1.0f / sum;
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) o[i][n] = product_of(o[i][n], inverse);
      const s64 r = row + threadIdx.x / 16 * kRows + i;
      if (a.lse == nullptr || threadIdx.x % 16 != 0 || r >= a.t) continue;
      // NaN of infinite maxima.
      const float log_sum = sum_of(sum_of(most, difference_of(most, most)), log_of(sum));
      store(a.lse, m.number * a.t + r, a.s == 0 ? -infinity() : log_sum);
    }
    store_rows<kRows, kWidth>(rows_from(a.o + m.number * a.t * a.e * 4, row, a.t, a.e), o);
  }
}
)";

/// For each query: D = sum over e of o do, and what makes exponentials of scores probabilities:
/// e^(score - base) * factor.
constexpr const char* kFacts = R"(
// Whether a log-sum-exp is finite and so large that rounding has lost some of the logarithm of the
// sum, as for a query whose keys are all masked by -1e9.
inline bool is_large(float lse) { return fabs_of(lse) > 4096.0f && lse - lse == 0.0f; }

inline void attention_query_facts(const Attention& a, s64 units) {
  constexpr int kRows = 8;
  const s64 tiles = tiles_of(a.t);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Matrix m = matrix_of(a, unit / tiles);
    const s64 row = unit % tiles * kTile, first = m.number * a.t + row;
    const int rows = up_to_tile(a.t - row);
    bool has_large = false;
    for (int i = 0; i < rows; ++i) has_large = has_large || is_large(load<float>(a.lse, first + i));
    Exponentials<kRows> exponentials;
    exponentials.clear();
    if (has_large) {
      float scores[kRows][4], factors[kRows];
      for (s64 key = 0; key < a.s; key += kTile) {
        compute_scores(a, m, row, key, scores);
        exponentials.take(scores, factors);
      }
      exponentials.add_threads();
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int r = threadIdx.x / 16 * kRows + i;
      if (threadIdx.x % 16 != 0 || r >= rows) continue;
      const float lse = load<float>(a.lse, first + r);
      const bool is_exact = !is_large(lse);
      store(a.facts, (first + r) * 3 + 1, is_exact ? lse : exponentials.most[i]);
      store(a.facts, (first + r) * 3 + 2, is_exact ? 1.0f : 1.0f / exponentials.sums[i]);
    }
    for (int r = threadIdx.x / 32; r < rows; r += 4) {
      float sum = 0.0f;
      for (s64 c = threadIdx.x % 32; c < a.e; c += 32) {
        const s64 at = (first + r) * a.e + c;
        sum = fma_of(load<float>(a.o, at), load<float>(a.d_result, at), sum);
      }
      for (int distance = 16; distance > 0; distance /= 2) {
        sum = sum_of(sum, exchanged(sum, distance));
      }
      if (threadIdx.x % 32 == 0) store(a.facts, (first + r) * 3, sum);
    }
  }
}
)";

/// Of a group of tiles of keys: dk and dv, and the part of dq that these keys add.
constexpr const char* kGradient = R"(
// Replaces scores by probabilities p, and their cotangents by those of the scores times the scale.
template <int kRows>
void take_cotangents(const Attention& a, const Matrix& m, s64 row, s64 key,
                     float (&p)[kRows][4], float (&ds)[kRows][4]) {
  const Mask mask = mask_of(a, row, key);
  const int rows = up_to_tile(a.t - row), tx = threadIdx.x % 16 * 4, ty = threadIdx.x / 16 * kRows;
  const u8* const facts = a.facts + (m.number * a.t + row) * 12;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const bool is_query = ty + i < rows;
    const int first = is_query ? (ty + i) * 3 : 0;
    const float inner = load<float>(facts, first), base = load<float>(facts, first + 1);
    const float factor = load<float>(facts, first + 2);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float one = product_of(exp_of(difference_of(p[i][j], base)), factor);
      const float d_score = product_of(product_of(one, difference_of(ds[i][j], inner)), m.scale);
      p[i][j] = is_query && tx + j < mask.keys ? one : 0.0f;
      ds[i][j] = is_query && !mask.hides(ty + i, tx + j) ? d_score : 0.0f;
    }
  }
}

// Adds the tile to the rows, or stores it if it is the first.
template <int kRows, int kWidth>
void add_to_rows(const Rows& to, bool is_first, float (&tile)[kRows][kWidth / 16]) {
  if (!is_first) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        tile[i][n] = sum_of(element(to, threadIdx.x / 16 * kRows + i, column_of(n)), tile[i][n]);
      }
    }
  }
  store_rows<kRows, kWidth>(to, tile);
}

template <int kWidth> void attention_gradient(const Attention& a, s64 units) {
  constexpr int kRows = 4;
  const s64 tiles = tiles_of(a.s);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const s64 group = unit % a.groups;
    const Matrix m = matrix_of(a, unit / a.groups);
    u8* const v = a.v + m.number * a.s * a.e * 4;
    u8* const d_result = a.d_result + m.number * a.t * a.e * 4;
    u8* const dq = (a.groups == 1 ? a.dq : a.group_dq) + unit * a.t * a.d * 4;
    const s64 begin = tiles * group / a.groups, end = tiles * (group + 1) / a.groups;
    for (s64 tile = begin; tile < end; ++tile) {
      const s64 key = tile * kTile;
      float dk[kRows][kWidth / 16], dv[kRows][kWidth / 16];
      clear(dk);
      clear(dv);
      for (s64 row = 0; row < a.t; row += kTile) {
        float sums[kRows][kWidth / 16];
        clear(sums);
        const Rows to = rows_from(dq, row, a.t, a.d);
        if (skips(a, m.number, row, key)) {
          if (tile == begin) store_rows<kRows, kWidth>(to, sums);
          continue;
        }
        const Rows queries = rows_from(m.q, row, a.t, a.d);
        const Rows results = rows_from(d_result, row, a.t, a.e);
        float p[kRows][4], ds[kRows][4];
        compute_scores(a, m, row, key, p);
        clear(ds);
        add_products(results, rows_from(v, key, a.s, a.e), ds);
        take_cotangents(a, m, row, key, p, ds);
        share<false>(p);
        add_combinations<kRows, kWidth>(results, dv);
        share<false>(ds);
        add_combinations<kRows, kWidth>(queries, dk);
        share<true>(ds);
        add_combinations<kRows, kWidth>(rows_from(m.k, key, a.s, a.d), sums);
        add_to_rows<kRows, kWidth>(to, tile == begin, sums);
      }
      store_rows<kRows, kWidth>(rows_from(a.dk + m.number * a.s * a.d * 4, key, a.s, a.d), dk);
      store_rows<kRows, kWidth>(rows_from(a.dv + m.number * a.s * a.e * 4, key, a.s, a.e), dv);
    }
  }
}

inline void attention_add_groups(const Attention& a, s64 units) {
  const s64 elements = a.t * a.d;
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const s64 i = unit * 256 + threadIdx.x;
    if (i >= a.matrices * elements) continue;
    const s64 groups = i / elements * a.groups;
    float sum = 0.0f;
    for (s64 group = 0; group < a.groups; ++group) {
      const float one = load<float>(a.group_dq, (groups + group) * elements + i % elements);
      sum = group == 0 ? one : sum_of(sum, one);
    }
    store(a.dq, i, sum);
  }
}
)";
/// The functions, and up to which width NVRTC 13.0 fits `blocks` into a multiprocessor with few
/// spilled registers: at most 64 bytes for sm_80 and sm_90, 104 for sm_100. Wider ones get one
/// block less, and spill none but 16 bytes of sm_100.
struct Row {
  Work work;
  const char* name;
  int threads;
  bool has_width;
  int blocks, blocks_width;
};
constexpr Row kTable[] = {{Work::FiniteTiles, "attention_finite_tiles", 256, false, 8, kMaxWidth},
                          {Work::Forward, "attention_forward", 128, true, 3, 64},
                          {Work::QueryFacts, "attention_query_facts", 128, false, 3, kMaxWidth},
                          {Work::Gradient, "attention_gradient", 256, true, 2, 96},
                          {Work::AddGroups, "attention_add_groups", 256, false, 8, kMaxWidth}};
static_assert(kAttentionTile == 64 && kQueryFacts == 3 && kAddedElements == 256 &&
                  kFlaggedTiles == 8,
              "as the text has them");

const Row& row_of(Work work) { return *std::ranges::find(kTable, work, &Row::work); }

template <std::size_t kCount>
std::string joined(const char* const (&names)[kCount], const char* before, const char* between) {
  std::string out;
  for (const char* name : names) out += text(out.empty() ? "" : between, before, name);
  return out;
}

/// The line above a function has what a reader without the types needs to launch it.
std::string function_text(const AttentionFunction& function, int width) {
  const Row& row = row_of(function.work);
  const int blocks = width <= row.blocks_width ? row.blocks : row.blocks - 1;
  return text("\n// function ", function.name, ": ", function.threads, " threads, ",
              std::size(kAddresses), " addresses, ", std::size(kSizes), " sizes\n",
              "extern \"C\" __global__ void __launch_bounds__(", function.threads, ", ", blocks,
              ") ", function.name, "(", joined(kAddresses, "u8* const ", ", "), ", ",
              joined(kSizes, "const s64 ", ", "), ", const s64 units) {\n  const Attention a{",
              joined(kAddresses, "", ", "), ", ", joined(kSizes, "", ", "), "};\n  ", row.name,
              row.has_width ? text("<", width, ">") : "", "(a, units);\n}\n");
}

}  // namespace

AttentionForm attention_form(bool is_gradient, std::int64_t d, std::int64_t e) {
  const std::int64_t held = std::max<std::int64_t>(is_gradient ? std::max(d, e) : e, 1);
  return {is_gradient, static_cast<int>((held + kWidthStep - 1) / kWidthStep * kWidthStep)};
}

std::vector<AttentionFunction> attention_functions(const AttentionForm& form) {
  std::vector<AttentionFunction> functions;
  for (const Row& row : kTable) {
    const bool is_of_both = row.work == Work::FiniteTiles;
    if (!is_of_both && (row.work == Work::Forward) == form.is_gradient) continue;
    const std::string width = row.has_width ? text("_", form.width) : "";
    functions.push_back({row.work, row.name + width, row.threads});
  }
  return functions;
}

std::string attention_text(const AttentionForm& form) {
  const codegen::Formulas used{{ir::Op::Exp, false}, {ir::Op::Log, false}};
  std::string out = text(text_prelude(codegen::TextDialect::Cuda, used), attention_tiles(),
                         "\nstruct Attention {\n  ", joined(kAddresses, "u8* ", "; "), ";\n  ",
                         joined(kSizes, "s64 ", "; "), ";\n};\n", attention_scores());
  out +=
      text("\nconstexpr bool kIsGradient = ", form.is_gradient ? "true" : "false", ";\n", kFinite);
  out += form.is_gradient ? text(kFacts, kGradient) : kForward;
  out += "}  // namespace\n";
  for (const AttentionFunction& one : attention_functions(form)) {
    out += function_text(one, form.width);
  }
  return out;
}

}  // namespace kiln::cuda
