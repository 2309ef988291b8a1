// The tables of host functions.
#include "runtime/host/host_functions.h"

#include "runtime/host/ctc_decoder.h"
#include "runtime/host/size_functions.h"

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

}  // namespace kiln::runtime
