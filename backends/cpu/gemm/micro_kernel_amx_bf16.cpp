// The bfloat16 loops for AMX; CMakeLists.txt has the compiler options.
#include "backends/cpu/gemm/amx_tile_loops.h"

namespace kiln::cpu {

const HalfKernel<BFloat16Bits> kBf16KernelAmx = {.panel_columns = kPanel<unsigned>,
                                                 .block_columns = 8 * kPanel<unsigned>,
                                                 .tile_rows = kLhsBlockRows,
                                                 .k_per_word = 2,
                                                 .lhs_block_rows = kLhsBlockRows,
                                                 .lhs_part_words = kTile,
                                                 .pack = &pack_tiles,
                                                 .prepare_lhs = &prepare_tiles,
                                                 .run = &run_tiles,
                                                 .narrow = nullptr};

}  // namespace kiln::cpu
