// Calls the services of the host from fakes/spoiled.cpp, with one argument wrong.
#pragma once

#include "tests/runtime/plugin/spoiled_objects.h"

namespace {

std::uint32_t throwing_body(void*, std::uint64_t, std::uint64_t) { throw std::string("a body"); }

kiln_host_call_args host_call_args() {
  static float value = 1;
  static std::int64_t dims[] = {1}, negative[] = {-1};
  static auto view = kiln::abi::fresh<kiln_view>(), result = view;
  view.dtype = is("view.dtype") ? 1000u : std::uint32_t{KILN_DTYPE_FLOAT32};
  view.dims = {is("view.negative") ? negative : dims, 1};
  if (is("view.rank")) view.dims.rank = spoil::kAbsurd;
  if (is("view.dims")) view.dims.data = nullptr;
  view.data = is("view.data") ? nullptr : &value;
  result = view;
  auto args = kiln::abi::fresh<kiln_host_call_args>();
  args.name = spoil::text("host_call.name", "print_tensor");
  args.payload = {"msg", 3};
  if (how("host_call.payload") == "null") args.payload.data = nullptr;
  if (how("host_call.payload") == "absurd") args.payload.size = spoil::kAbsurd;
  args.inputs = spoil::array("host_call.inputs", view);
  args.outputs = spoil::array("host_call.outputs", result);
  static std::int64_t other[] = {1, 1};
  if (is("host_call.no_output")) args.outputs.count = 0;
  if (is("host_call.other_dims")) result.dims = {other, 2};
  if (is("host_call.other_dtype")) result.dtype = KILN_DTYPE_INT32;
  if (is("host_call.unknown")) args.name = {"no_such_function", 16};
  if (is("host_call.sizing")) args.name = {"sizes", 5};
  if (is("host_call.size")) args.struct_size = spoil::kAbsurd;
  if (is("host_call.no_size")) args.struct_size = 0;
  return args;
}

/// Calls a service of the host with hostile arguments; returns its result.
std::uint32_t use_host(const kiln_instance& instance, void* call_context) {
  const kiln_host_api& host = *instance.host;
  void* context = is("host.no_context") ? nullptr : instance.context;
  const std::string_view fault = spoil::fault();
  if (fault.starts_with("log") || is("host.no_context")) {
    static auto field = kiln::abi::fresh<kiln_option>();
    field.key = spoil::text("log.key", "oil");
    field.value = spoil::text("log.value", "low");
    const kiln_array fields = spoil::array("log.fields", field);
    host.log(context, is("log.level") ? 99u : std::uint32_t{KILN_LOG_WARNING},
             spoil::text("log.component", "gears"), spoil::text("log.message", "slipping"),
             &fields);
    static_cast<void>(host.log_enabled(context, 0xffffffffu));
  }
  if (fault.starts_with("dump")) {
    auto args = kiln::abi::fresh<kiln_dump_args>();
    args.label = spoil::text("dump.label", "label");
    args.stage = spoil::text("dump.stage", "asm");
    args.name = spoil::text("dump.name", "kernel");
    args.media_type = spoil::text("dump.media_type", "text/plain");
    const kiln_string bytes = spoil::text("dump.bytes", "addps");
    args.bytes = {bytes.data, bytes.size};
    if (is("dump.no_size")) args.struct_size = 0;
    static_cast<void>(host.dump_wanted(context, args.stage));
    host.dump(context, is("dump.null") ? nullptr : &args);
  }
  if (is("parallel_for.null")) return host.parallel_for(context, 8, nullptr, nullptr);
  if (is("parallel_for.throws")) return host.parallel_for(context, 8, throwing_body, nullptr);
  if (is("host_call.null")) return host.host_call(call_context, nullptr);
  if (fault.starts_with("host_call") || fault.starts_with("view")) {
    const kiln_host_call_args args = host_call_args();
    return host.host_call(call_context, &args);
  }
  return KILN_CODE_OK;
}

}  // namespace
