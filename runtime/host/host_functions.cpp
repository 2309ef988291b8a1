// Looks host functions up in two constant tables.
#include "runtime/host/host_functions.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/host/ctc_decoder.h"
#include "runtime/host/shard_functions.h"
#include "runtime/host/size_functions.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

namespace kiln::runtime {
namespace {

struct NamedFunction {
  std::string_view name;
  HostFunction function;
};

constexpr NamedFunction kFunctions[] = {
    {"print_tensor", host_print_tensor},         {"check_numerics", host_check_numerics},
    {"collective_start", host_collective_start}, {"collective_wait", host_collective_wait},
    {"collective_agree", host_collective_agree},
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
    {"shard", shard},
    {"shard_results", shard_results},
};

CollectiveService& service_of(const HostCallArguments& arguments) {
  if (arguments.collectives != nullptr) return *arguments.collectives;
  throw NotImplementedError("", "", "a collective outside of a call of a group");
}

/// The number in the payload of a call in a group.
std::size_t collective_number(const HostCallArguments& arguments) {
  const auto* begin = reinterpret_cast<const char*>(arguments.payload.data());
  const char* end = begin + arguments.payload.size();
  std::size_t number = 0;
  const auto [parsed, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || parsed != end) {
    throw abi::BrokenStruct(
        text("a collective has the number '", escaped_text(std::string_view(begin, end)), "'"));
  }
  return number;
}

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

void host_collective_start(const HostCallArguments& arguments) {
  service_of(arguments).start(collective_number(arguments), arguments.inputs);
  for (const HostView& position : arguments.outputs) {
    std::memset(position.data, 0, position.elements() * dtype_bytes(position.dtype));
  }
}

void host_collective_wait(const HostCallArguments& arguments) {
  service_of(arguments).wait(collective_number(arguments), arguments.outputs);
}

void host_collective_agree(const HostCallArguments& arguments) { service_of(arguments).agree(); }

DataDependentFunction find_data_dependent_function(std::string_view name) {
  for (const NamedDataDependentFunction& entry : kDataDependentFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace kiln::runtime
