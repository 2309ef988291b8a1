// Host functions of collectives: those that run them in host memory, and those by which a backend
// that runs them itself takes part in the agreement of its ranks.
#include "runtime/host/host_functions.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/ops/collective_payload.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <charconv>
#include <cstring>
#include <system_error>

namespace kiln::runtime {
namespace {

CollectiveService& service_of(const HostCallArguments& arguments) {
  if (arguments.collectives != nullptr) return *arguments.collectives;
  throw NotImplementedError(std::string(arguments.caller), "",
                            text("a collective ('", escaped_text(arguments.payload_text()),
                                 "') outside of a call of a group; of a dump, 00-user.kir is the "
                                 "module that a group can run"));
}

/// The number of the collective in the payload.
std::size_t number_of(const HostCallArguments& arguments) {
  const auto payload = ir::decode_collective(arguments.payload_text());
  if (payload) return static_cast<std::size_t>(payload->number);
  throw abi::BrokenStruct(
      text("a collective has the payload '", escaped_text(arguments.payload_text()), "'"));
}

std::int64_t group_of(const HostCallArguments& arguments) {
  const std::string_view given = arguments.payload_text();
  std::int64_t number = -1;
  const char* const end = given.data() + given.size();
  const auto [parsed, error] = std::from_chars(given.data(), end, number);
  if (error == std::errc() && parsed == end && number >= 0) return number;
  throw abi::BrokenStruct(text("'", escaped_text(given), "' is not the number of a group"));
}

/// The error of a call that does not have the tensors it takes.
abi::BrokenStruct broken_tensors(const char* function, const char* taken,
                                 const HostCallArguments& arguments) {
  return abi::BrokenStruct(text(function, " takes ", taken, ", not ", arguments.inputs.size(),
                                " inputs and ", arguments.outputs.size(), " outputs"));
}

std::span<std::byte> bytes_of(const HostView& view) {
  return {static_cast<std::byte*>(view.data), view.elements() * dtype_bytes(view.dtype)};
}

}  // namespace

void host_collective_start(const HostCallArguments& arguments) {
  const std::size_t number = number_of(arguments);
  service_of(arguments).start(number, arguments.inputs);
  for (const HostView& position : arguments.outputs) {
    std::memset(position.data, 0, position.elements() * dtype_bytes(position.dtype));
  }
}

void host_collective_wait(const HostCallArguments& arguments) {
  const std::size_t number = number_of(arguments);
  service_of(arguments).wait(number, arguments.outputs);
}

void host_collective_agree(const HostCallArguments& arguments) { service_of(arguments).agree(); }

void host_collective_group(const HostCallArguments& arguments) {
  const CollectiveGroup group = collective_group(group_of(arguments));
  const std::int64_t fields[] = {group.rank,       group.size,       group.local_rank,
                                 group.local_size, group.time_limit, group.session};
  const bool has_room = arguments.outputs.size() == 1 && arguments.inputs.empty() &&
                        arguments.outputs[0].dtype == DType::Int64 &&
                        bytes_of(arguments.outputs[0]).size() == sizeof(fields);
  if (!has_room) {
    throw broken_tensors("collective_group", "no input and one output, int64[6]", arguments);
  }
  std::memcpy(arguments.outputs[0].data, fields, sizeof(fields));
}

void host_collective_open(const HostCallArguments& arguments) {
  service_of(arguments).open_by_backend();
}

void host_collective_exchange(const HostCallArguments& arguments) {
  if (arguments.inputs.size() != 1 || arguments.outputs.size() != 1) {
    throw broken_tensors("collective_exchange", "one input and one output", arguments);
  }
  service_of(arguments).exchange(group_of(arguments), bytes_of(arguments.inputs[0]),
                                 bytes_of(arguments.outputs[0]));
}

void host_collective_break(const HostCallArguments& arguments) {
  service_of(arguments).break_up(escaped_text(arguments.payload_text()));
}

}  // namespace kiln::runtime
