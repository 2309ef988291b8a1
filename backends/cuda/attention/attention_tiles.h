// The parts of the text of attention that its kernels share.
#pragma once

namespace kiln::cuda {

/// Sums of products of tiles, in registers and shared memory. A tile has kTile x kTile scores:
/// thread x has kRows rows from kRows * (x / 16) on, and 4 columns from 4 * (x % 16) on. Blocks
/// have 1024 / kRows threads.
const char* attention_tiles();

/// Scores of a tile, with scale, bias and causal mask, and reductions over its rows. The struct
/// Attention of AttentionArguments precedes it.
const char* attention_scores();

}  // namespace kiln::cuda
