// Scan, While, Cond and HostCall.
#include "backends/reference/interpretation.h"

#include "core/ops/convert.h"

#include <cstring>

namespace kiln::reference {
namespace {

Tensor step_number(std::int64_t t) {
  Tensor number = Tensor::allocate(DType::Int64, {});
  ir::store_signed(DType::Int64, &t, number.data.get(), 1);
  return number;
}

/// Whether a While that has these carries begins a further step.
bool goes_on(const Results& carry) { return *carry[0].data != std::byte{0}; }

/// Slice t of the leading axis, as a view that shares ownership of the stacked tensor.
Tensor slice_at(const Tensor& stacked, std::int64_t t) {
  Tensor slice{stacked.dtype, {stacked.dims.begin() + 1, stacked.dims.end()}, 0, nullptr};
  slice.count = count_of(slice.dims);
  std::byte* at = stacked.data.get() + static_cast<std::size_t>(t) * slice.bytes();
  slice.data = std::shared_ptr<std::byte>(stacked.data, at);
  return slice;
}

}  // namespace

Results run_loop(const Context& c) {
  const auto& attrs = c.as<ir::ScanAttrs>();
  const auto consts = static_cast<std::size_t>(attrs.consts);
  const auto carries = static_cast<std::size_t>(attrs.carry);
  const std::int64_t length = c.run.evaluate(attrs.length);
  for (std::size_t i = consts + carries; i < c.x.size(); ++i) {
    if (c.x[i].dims[0] != length) {
      throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                         "the inputs of a scan have different numbers of steps");
    }
  }
  const auto first_carry = c.x.begin() + static_cast<std::ptrdiff_t>(consts);
  Results carry(first_carry, first_carry + static_cast<std::ptrdiff_t>(carries));
  Results ys;
  for (std::size_t i = carries; i < c.node.types.size(); ++i) ys.push_back(c.result(i));
  Results arguments;
  const bool may_end = c.node.op == ir::Op::While;
  for (std::int64_t i = 0; i < length && (!may_end || goes_on(carry)); ++i) {
    const std::int64_t t = attrs.reverse ? length - 1 - i : i;
    arguments.assign(1, step_number(t));
    arguments.insert(arguments.end(), c.x.begin(), first_carry);
    arguments.insert(arguments.end(), carry.begin(), carry.end());
    for (std::size_t x = consts + carries; x < c.x.size(); ++x) {
      arguments.push_back(slice_at(c.x[x], t));
    }
    Results results = run_region(c.bodies[0], arguments, c.run);
    for (std::size_t y = 0; y < ys.size(); ++y) {
      const Tensor& slice = results[carries + y];
      const std::size_t bytes = slice.bytes();
      if (bytes != 0) {
        std::memcpy(ys[y].data.get() + static_cast<std::size_t>(t) * bytes, slice.data.get(),
                    bytes);
      }
    }
    results.resize(carries);
    carry = std::move(results);
  }
  carry.insert(carry.end(), ys.begin(), ys.end());
  return carry;
}

Results run_cond(const Context& c) {
  const bool taken = *c.x[0].data != std::byte{0};
  return run_region(c.bodies[taken ? 0 : 1], {c.x.begin() + 1, c.x.end()}, c.run);
}

Results run_host_call(const Context& c) {
  const auto& attrs = c.as<ir::HostCallAttrs>();
  Results results;
  std::vector<kiln_view> inputs, outputs;
  for (std::size_t i = 1; i < c.x.size(); ++i) {
    inputs.push_back(
        sdk::view(static_cast<std::uint32_t>(c.x[i].dtype), c.x[i].dims, c.x[i].data.get()));
  }
  for (std::size_t i = 0; i < c.node.types.size(); ++i) results.push_back(c.result(i));
  for (Tensor& result : results) {
    outputs.push_back(
        sdk::view(static_cast<std::uint32_t>(result.dtype), result.dims, result.data.get()));
  }
  const auto* payload = reinterpret_cast<const std::byte*>(attrs.payload.data());
  c.run.host->host_call(c.run.host_call_context, attrs.function, {payload, attrs.payload.size()},
                        inputs, outputs);
  return results;
}

}  // namespace kiln::reference
