// Tensors that several stores write: Concat, ScatterAdd, Fold of windows that tile, column sums.
// Partial writes to one tensor are disjoint, or ordered after the fill that initialises it. Only
// additions may meet in one element. A NodeGroup WrittenTensor, ordered after all writers,
// represents the tensor.
//
// Before: %2 = tanh %0; %3 = exp %1; %4 = concat %2 %3 axis=0
// After:  group { %2, writes %4[0 .. n) }, group { %3, writes %4[n .. n + m) },
//         group WrittenTensor %4
#pragma once

#include "backends/codegen/access/node_iteration_space.h"
#include "backends/codegen/fusion/fusion_builder.h"

namespace kiln::codegen {

/// Adds a kernel that fills `target` with a scalar, and returns its group.
int fill(FusionBuilder& builder, const ir::Value& scalar, const ir::Value& target);
/// Adds the WrittenTensor group of a node that the groups `writers` write.
void add_written_tensor(FusionBuilder& builder, const ir::Node& node,
                        const std::vector<int>& writers);

void write_concat(FusionBuilder& builder, const ir::Node& node);
/// A fill with 0, then additions at the indices.
void write_scatter_add(FusionBuilder& builder, const ir::Node& node);
/// A Fold as stores of its operand's kernel. REQUIRES: windows_tile (guarded_reads.h).
void write_tiles(FusionBuilder& builder, const ir::Node& node);
/// A sum over the axes that kernel `index` does not reduce, of a value that the kernel reads or
/// computes at every point: a fill with 0, then the kernel adds each row. REQUIRES: can_sum_columns
/// (fusion_rules.h).
void write_column_sum(FusionBuilder& builder, const ir::Node& node, int index,
                      const OperandRead& read, const View& view);

}  // namespace kiln::codegen
