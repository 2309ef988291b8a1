// Looks host functions up in two constant tables.
#include "runtime/host/host_functions.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/host/ctc_decoder.h"
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
    {"print_tensor", host_print_tensor},
    {"check_numerics", host_check_numerics},
    {"collective", host_collective},
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

void host_collective(const HostCallArguments& arguments) {
  const std::string_view payload(reinterpret_cast<const char*>(arguments.payload.data()),
                                 arguments.payload.size());
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(payload.data(), payload.data() + payload.size(), number);
  const bool is_number = error == std::errc() && end == payload.data() + payload.size();
  if (!is_number || arguments.inputs.size() != 1 || arguments.outputs.size() != 2) {
    throw abi::BrokenStruct(text("collective '", escaped_text(payload), "' has ",
                                 arguments.inputs.size(), " inputs and ", arguments.outputs.size(),
                                 " results"));
  }
  if (arguments.collectives == nullptr) {
    throw NotImplementedError("", "", "a collective outside of a call of a group");
  }
  arguments.collectives->run(number, arguments.inputs[0].data, arguments.outputs[0].data);
  *static_cast<std::int64_t*>(arguments.outputs[1].data) = 0;
}

DataDependentFunction find_data_dependent_function(std::string_view name) {
  for (const NamedDataDependentFunction& entry : kDataDependentFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace kiln::runtime
