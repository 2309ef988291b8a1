// The table of host functions, and print_tensor.
#include "runtime/host_functions.h"

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/ctc_decoder.h"
#include "runtime/size_functions.h"

#include <algorithm>
#include <cstring>
#include <iostream>

namespace kiln::runtime {
namespace {

struct Row {
  std::string_view name;
  HostFunction function;
};

constexpr Row kFunctions[] = {
    {"print_tensor", host_print_tensor},
};

struct SizingRow {
  std::string_view name;
  SizingFunction function;
};

constexpr SizingRow kSizingFunctions[] = {
    {"ctc_greedy", ctc_greedy},
    {"ctc_beam_search", ctc_beam_search},
    {"ctc_label_indices", ctc_label_indices},
    {"ctc_skip_idxs", ctc_skip_idxs},
    {"sizes", sizes},
    {"reshape_sizes", reshape_sizes},
    {"slice_size", slice_size},
    {"range_length", range_length},
};

}  // namespace

std::size_t HostView::elements() const {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

HostFunction find_host_function(std::string_view name) {
  for (const Row& row : kFunctions) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

SizingFunction find_sizing_function(std::string_view name) {
  for (const SizingRow& row : kSizingFunctions) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

void host_print_tensor(const HostCallArguments& arguments) {
  if (arguments.inputs.size() != 1 || arguments.outputs.size() != 1) {
    throw abi::BrokenStruct(text("print_tensor takes one value and gives one but got ",
                                 arguments.inputs.size(), " and ", arguments.outputs.size()));
  }
  const HostView& value = arguments.inputs[0];
  const HostView& result = arguments.outputs[0];
  const std::size_t bytes = value.elements() * dtype_bytes(value.dtype);
  const bool same = result.dtype == value.dtype &&
                    std::equal(result.dims.begin(), result.dims.end(), value.dims.begin(),
                               value.dims.end());
  if (!same) {
    throw abi::BrokenStruct(text("print_tensor got ", value.dtype, "[",
                                 join_text(value.dims, ","), "] and gives ", result.dtype, "[",
                                 join_text(result.dims, ","), "]"));
  }
  const std::string_view message(reinterpret_cast<const char*>(arguments.payload.data()),
                                 arguments.payload.size());
  // One write, so that lines of several threads do not mix.
  std::cout << text(message, message.empty() ? "" : " ", array_text(value), "\n") << std::flush;
  if (bytes != 0) std::memcpy(result.data, value.data, bytes);
}

}  // namespace kiln::runtime
