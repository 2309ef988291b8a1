// Looks host functions up in two constant tables.
#include "runtime/host/host_functions.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host/ctc_decoder.h"
#include "runtime/host/selection_functions.h"
#include "runtime/host/shard_functions.h"
#include "runtime/host/size_functions.h"

#include <algorithm>
#include <cstring>

namespace kiln::runtime {
namespace {

struct NamedFunction {
  std::string_view name;
  HostFunction function;
};

constexpr NamedFunction kFunctions[] = {
    {"print_tensor", host_print_tensor},         {"check_numerics", host_check_numerics},
    {"collective_start", host_collective_start}, {"collective_wait", host_collective_wait},
    {"collective_agree", host_collective_agree}, {"collective_group", host_collective_group},
    {"collective_open", host_collective_open},   {"collective_exchange", host_collective_exchange},
    {"collective_break", host_collective_break},
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
    {"unique_rows", unique_rows},
    {"non_max_suppression", non_max_suppression},
    {"shard", shard},
    {"shard_results", shard_results},
};

}  // namespace

HostFunction find_host_function(std::string_view name) {
  for (const NamedFunction& entry : kFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

void copy_value(const HostView& value, const HostView& result, std::string_view function) {
  const bool same =
      result.dtype == value.dtype &&
      std::equal(result.dims.begin(), result.dims.end(), value.dims.begin(), value.dims.end());
  if (!same) {
    throw abi::BrokenStruct(text(function, " got ", value.dtype, "[", join_text(value.dims, ","),
                                 "] and gives ", result.dtype, "[", join_text(result.dims, ","),
                                 "]"));
  }
  const std::size_t bytes = value.elements() * dtype_bytes(value.dtype);
  if (bytes != 0) std::memcpy(result.data, value.data, bytes);
}

DataDependentFunction find_data_dependent_function(std::string_view name) {
  for (const NamedDataDependentFunction& entry : kDataDependentFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace kiln::runtime
