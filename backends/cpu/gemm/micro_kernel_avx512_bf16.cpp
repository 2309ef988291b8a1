// The bfloat16 loops for AVX512-BF16; CMakeLists.txt has the compiler options.
#include "backends/cpu/gemm/bf16_pair_loops.h"

namespace kiln::cpu {

const HalfKernel<BFloat16Bits> kBf16KernelAvx512 = {.panel_columns = kPanel<unsigned>,
                                                    .block_columns = kPanel<unsigned>,
                                                    .tile_rows = kMaxRows,
                                                    .k_per_word = 2,
                                                    .pack = &pack_pairs,
                                                    .prepare_lhs = &pair_lhs,
                                                    .run = &run_pairs,
                                                    .narrow = nullptr};

}  // namespace kiln::cpu
