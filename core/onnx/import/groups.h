// The groups of the table of operators, each in the file of its import functions.
#pragma once

#include "core/onnx/import/operator_row.h"

namespace kiln::onnx {

std::span<const OperatorRow> activation_operators();
std::span<const OperatorRow> attention_operators();
std::span<const OperatorRow> control_operators();
std::span<const OperatorRow> convolution_operators();
std::span<const OperatorRow> deform_conv_operators();
std::span<const OperatorRow> einsum_operators();
std::span<const OperatorRow> elementwise_operators();
std::span<const OperatorRow> gather_operators();
std::span<const OperatorRow> loop_operators();
std::span<const OperatorRow> loss_operators();
std::span<const OperatorRow> matmul_operators();
std::span<const OperatorRow> max_roi_pool_operators();
std::span<const OperatorRow> movement_operators();
std::span<const OperatorRow> normalization_operators();
std::span<const OperatorRow> pad_operators();
std::span<const OperatorRow> pool_operators();
std::span<const OperatorRow> quantize_operators();
std::span<const OperatorRow> random_operators();
std::span<const OperatorRow> range_operators();
std::span<const OperatorRow> recurrent_operators();
std::span<const OperatorRow> reduce_operators();
std::span<const OperatorRow> rejected_operators();
std::span<const OperatorRow> resize_operators();
std::span<const OperatorRow> roi_align_operators();
std::span<const OperatorRow> sampling_operators();
std::span<const OperatorRow> scan_operators();
std::span<const OperatorRow> scatter_operators();
std::span<const OperatorRow> selection_operators();
std::span<const OperatorRow> sequence_state_operators();
std::span<const OperatorRow> shape_operators();
std::span<const OperatorRow> signal_operators();
std::span<const OperatorRow> slice_operators();

}  // namespace kiln::onnx
