// Looks host functions up in two constant tables.
#include "runtime/host/host_functions.h"

#include "runtime/host/ctc_decoder.h"
#include "runtime/host/size_functions.h"

namespace kiln::runtime {
namespace {

struct NamedFunction {
  std::string_view name;
  HostFunction function;
};

constexpr NamedFunction kFunctions[] = {
    {"print_tensor", host_print_tensor},
};

struct NamedDataDependentFunction {
  std::string_view name;
  DataDependentFunction function;
};

constexpr NamedDataDependentFunction kDataDependentFunctions[] = {
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
  for (const NamedFunction& entry : kFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

DataDependentFunction find_data_dependent_function(std::string_view name) {
  for (const NamedDataDependentFunction& entry : kDataDependentFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace kiln::runtime
