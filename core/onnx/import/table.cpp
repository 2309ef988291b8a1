// One line a group.
#include "core/onnx/import/table.h"

#include "core/onnx/import/groups.h"

namespace kiln::onnx {

std::vector<std::span<const OperatorRow>> operator_groups() {
  return {
      activation_operators(),  attention_operators(),      control_operators(),
      convolution_operators(), deform_conv_operators(),    einsum_operators(),
      elementwise_operators(), gather_operators(),         loop_operators(),
      loss_operators(),        matmul_operators(),         max_roi_pool_operators(),
      movement_operators(),    normalization_operators(),  pad_operators(),
      pool_operators(),        quantize_operators(),       random_operators(),
      range_operators(),       recurrent_operators(),      reduce_operators(),
      rejected_operators(),    resize_operators(),         roi_align_operators(),
      sampling_operators(),    scan_operators(),           scatter_operators(),
      selection_operators(),   sequence_state_operators(), shape_operators(),
      signal_operators(),      slice_operators(),
  };
}

const OperatorRow* operator_row(std::string_view name) {
  for (const auto group : operator_groups()) {
    for (const OperatorRow& row : group) {
      if (row.name == name) return &row;
    }
  }
  return nullptr;
}

}  // namespace kiln::onnx
