// Binds only what changed since the last call, so that a repeated call allocates nothing.
#include "runtime/function/prepared_call.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/plugin/plugin_call.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>

namespace kiln::runtime {
namespace {

/// Sets the view's type, points its dims at `sizes` and advances `sizes` past them. Calls fill in
/// the sizes and the data.
void bind_view(kiln_view& view, const ir::Type& type, const std::int64_t*& sizes) {
  view.struct_size = sizeof(view);
  view.dims = {sizes, type.dims.size()};
  view.dtype = static_cast<std::uint32_t>(type.dtype);
  sizes += type.dims.size();
}

/// Whether the view is unchanged since bind_view.
bool is_bound(const kiln_view& view, const ir::Type& type, const std::int64_t*& sizes) {
  const bool same = view.dims.data == sizes && view.dims.rank == type.dims.size() &&
                    view.dtype == static_cast<std::uint32_t>(type.dtype);
  sizes += type.dims.size();
  return same;
}

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % dtype_bytes(dtype) == 0;
}

/// Compares sizes; for a few axes a loop is faster than memcmp.
bool equal_sizes(Dims given, const std::int64_t* known) {
  for (const std::int64_t size : given) {
    if (size != *known++) return false;
  }
  return true;
}

const ArrayView& view_of(const ArrayView& view) { return view; }
ArrayView view_of(const Array& array) { return array.as_view(); }

/// Whether a tensor has fewer than 2^63 bytes.
bool is_countable(Dims dims, DType dtype) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return true;
  auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return false;
  }
  return true;
}

std::size_t bytes_of(Dims dims, DType dtype) {
  std::size_t bytes = dtype_bytes(dtype);
  for (const std::int64_t dim : dims) bytes *= static_cast<std::size_t>(dim);
  return bytes;
}

/// Formats the origin of a value, "dot at model.cpp:12"; without a line, only the function.
std::string source_of(const ir::Value& value) {
  const ir::Origin& origin = value.node->origin;
  if (!origin.where.known()) return origin.function;
  return text(origin.function, " at ", origin.where.file, ":", origin.where.line);
}

}  // namespace

std::string describe_output(const CompiledProgram& program, std::size_t i) {
  const std::string source = source_of(program.user_graph.outputs[i]);
  return source.empty() ? text("outputs[", i, "]") : text("outputs[", i, "] (", source, ")");
}

// ---- PreparedCall ----

PreparedCall::PreparedCall(const CompiledProgram& program) : program_(program), io_() {
  const std::vector<ir::Value>& outputs = program.graph.outputs;
  std::size_t axes = 0, output_axes = 0;
  for (std::size_t i = 0; i < program.binding.count(); ++i) {
    axes += program.binding.type(i).dims.size();
  }
  for (const ir::Value& output : outputs) output_axes += output.dims().size();
  sizes_.resize(axes);
  output_sizes_.resize(output_axes);
  shared_sizes_.resize(axes + output_axes);
  bytes_.resize(program.binding.count() + outputs.size());
  inputs_.resize(program.binding.count());
  for (std::size_t i = 0; i < program.binding.count(); ++i) {
    if (program.binding.type(i).dtype == DType::Bool) bool_inputs_.push_back({i, {}});
  }
  outputs_.resize(outputs.size());
  output_data_.resize(outputs.size());
  const std::int64_t* size = output_sizes_.data();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    output_types_.emplace_back(Dims(size, outputs[i].dims().size()), outputs[i].dtype());
    size += outputs[i].dims().size();
    if (outputs[i].dtype() == DType::Bool) bools_.push_back(i);
  }
  bind_views();
  states_.assign(program.state_storages.size(), abi::fresh<kiln_state_in>());
  updates_.resize(program.updated.size());
  written_.resize(outputs.size());
  held.resize(states_.size());
  next.resize(updates_.size());
  if (program.overwrites) overwrites = program.overwritable;
  host_calls.function = program.name;

  io_ = abi::fresh<kiln_frame_io>();
  io_.inputs = abi::array_of(std::span<const kiln_view>(inputs_));
  io_.outputs = abi::array_of(std::span<const kiln_view>(outputs_));
  io_.states = abi::array_of(std::span<const kiln_state_in>(states_));
  io_.updates = updates_.data();
  io_.update_count = updates_.size();
  io_.host_call_context = program.calls_host ? &host_calls : nullptr;
  io_.label = abi::string_of(program.name);
  io_.seed = program.seed;
  if (program.has_inferred_sizes) frame_ = program.executable->make_frame(io_);
}

template <class Input>
void PreparedCall::bind_inputs_of(std::span<const Input> inputs) {
  constexpr bool is_view = std::is_same_v<Input, ArrayView>;  // else aligned and not null
  program_.binding.check_count(inputs.size());
  bool same = sized_;
  aligned_ = true;
  const std::int64_t* size = sizes_.data();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayView given = view_of(inputs[i]);
    const ir::Type& type = program_.binding.type(i);
    if (given.dtype != type.dtype) {
      throw TypeError(program_.name, program_.binding.name(i),
                      text(program_.binding.describe(i), " was fed a view of dtype ", given.dtype));
    }
    same = same && given.dims.size() == type.dims.size() && equal_sizes(given.dims, size);
    size += type.dims.size();
    if constexpr (is_view) aligned_ = aligned_ && is_aligned(given.data, given.dtype);
    inputs_[i].data = const_cast<void*>(given.data);
  }
  if (!same) bind_sizes(inputs);
  for (std::size_t i = 0; is_view && i < inputs.size(); ++i) {
    if (inputs_[i].data != nullptr || bytes_[i] == 0) continue;
    throw ValueError(program_.name, program_.binding.name(i),
                     text(program_.binding.describe(i), " was fed a null address"));
  }
}

void PreparedCall::bind_inputs(std::span<const ArrayView> inputs) { bind_inputs_of(inputs); }
void PreparedCall::bind_inputs(std::span<const Array> inputs) { bind_inputs_of(inputs); }

std::span<const ArrayView> PreparedCall::with_canonical_bools(std::span<const ArrayView> inputs) {
  bool changed = false;
  for (BoolInput& one : bool_inputs_) {
    const std::size_t bytes = bytes_[one.input];
    const auto* from = static_cast<const std::byte*>(inputs[one.input].data);
    if (are_bools(from, bytes)) continue;
    if (!changed) canonical_.assign(inputs.begin(), inputs.end());
    changed = true;
    try {
      one.copy.resize(bytes);
    } catch (const std::exception&) {  // bad_alloc or length_error
      throw OutOfMemory(program_.name, program_.binding.name(one.input),
                        text("no memory for ", bytes, " bytes of bools of 0 and 1; for ",
                             program_.binding.describe(one.input)));
    }
    copy_bools(from, one.copy.data(), bytes);
    canonical_[one.input].data = inputs_[one.input].data = one.copy.data();
  }
  return changed ? std::span<const ArrayView>(canonical_) : inputs;
}

template <class Input>
void PreparedCall::bind_sizes(std::span<const Input> inputs) {
  given_dims_.clear();
  for (const Input& input : inputs) given_dims_.push_back(view_of(input).dims);
  program_.binding.check_dims(given_dims_, symbols_);
  sized_ = false;  // in case the rest throws
  std::int64_t* size = sizes_.data();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    size = std::copy(given_dims_[i].begin(), given_dims_[i].end(), size);
    bytes_[i] = bytes_of(given_dims_[i], program_.binding.type(i).dtype);
  }
  bind_output_sizes(symbols_);
  std::copy(sizes_.begin(), sizes_.end(), shared_sizes_.begin());
  std::copy_backward(output_sizes_.begin(), output_sizes_.end(), shared_sizes_.end());
  ++io_.sizes_serial;
  sized_ = true;
}

std::int64_t PreparedCall::output_size(std::size_t i, const ir::DimEvaluator& dim,
                                       std::span<const std::int64_t> symbol_values) const {
  try {
    return dim(symbol_values);
  } catch (const ValueError& error) {
    const ir::Value& output = program_.user_graph.outputs[i];
    throw ValueError(program_.name, "outputs",
                     text("outputs[", i, "] ", output.type(), " has no size, ", error.message(),
                          " (", source_of(output), ")"));
  }
}

void PreparedCall::bind_output_sizes(std::span<const std::int64_t> symbol_values) {
  const std::vector<ir::Value>& outputs = program_.graph.outputs;
  std::int64_t* size = output_sizes_.data();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const ir::DimEvaluator& dim : program_.output_sizes[i]) {
      *size++ = dim.is_bound() ? output_size(i, dim, symbol_values) : -1;
    }
    if (!is_direct()) continue;
    const DType dtype = outputs[i].dtype();
    if (!is_countable(output_dims(i), dtype)) {
      throw OutOfMemory(
          program_.name, "",
          text("no memory for ", dtype, "[", join_text(output_dims(i), ","),
               "], which is more than 2^63 bytes; for ", describe_output(program_, i)));
    }
    const std::size_t bytes = bytes_of(output_dims(i), dtype);
    bytes_[inputs_.size() + i] = bytes;
    output_types_[i].size = static_cast<std::int64_t>(bytes / dtype_bytes(dtype));
    output_types_[i].bytes = bytes;
  }
}

void reject_view(const CompiledProgram& program, std::size_t i, std::span<const std::int64_t> dims,
                 const MutableArrayView& view) {
  const DType dtype = program.graph.outputs[i].dtype();
  const std::string message =
      text("outputs[", i, "] is ", dtype, "[", join_text(dims, ","), "] but the view is ",
           view.dtype, "[", join_text(view.dims, ","), "]");
  if (view.dtype != dtype) throw TypeError(program.name, "outputs", message);
  throw ValueError(program.name, "outputs", message);
}

void PreparedCall::bind_outputs(std::span<const MutableArrayView> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const MutableArrayView& view = outputs[i];
    const Dims known = output_dims(i);
    const bool fits = view.dtype == program_.graph.outputs[i].dtype() &&
                      view.dims.size() == known.size() && equal_sizes(view.dims, known.data());
    if (!fits) reject_view(program_, i, output_dims(i), view);
    const std::size_t bytes = bytes_[inputs_.size() + i];
    if (view.data == nullptr && bytes != 0) {
      throw ValueError(program_.name, "outputs", text("outputs[", i, "] has a null address"));
    }
    aligned_ = aligned_ && is_aligned(view.data, view.dtype);
    outputs_[i].data = output_data_[i] = view.data;
    const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
    written_[i] = {begin, begin + bytes};
  }
}

bool PreparedCall::can_run_in_place() {
  if (!aligned_) return false;
  const auto by_begin = [](const AddressRange& a, const AddressRange& b) {
    return a.begin < b.begin;
  };
  if (written_.size() > 1) std::sort(written_.begin(), written_.end(), by_begin);
  for (std::size_t i = 1; i < written_.size(); ++i) {
    if (written_[i].begin < written_[i - 1].end) return false;
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(inputs_[i].data);
    const AddressRange read{begin, begin + bytes_[i]};
    // The first written range that ends after this one begins; the ranges are sorted and disjoint.
    const auto after =
        std::partition_point(written_.begin(), written_.end(),
                             [&](const AddressRange& range) { return range.end <= read.begin; });
    for (auto range = after; range != written_.end() && range->begin < read.end; ++range) {
      if (range->begin < range->end) return false;  // not an empty one
    }
  }
  return true;
}

void PreparedCall::bind_state(std::size_t i, const Buffer& buffer, std::uint64_t version) {
  states_[i].buffer = buffer.handle();
  states_[i].version = version;
}

void PreparedCall::run(std::uint64_t call_counter) {
  io_.call_counter = call_counter;
  frame_.run(program_.name, host_calls);
}

void PreparedCall::check_results() {
  if (!has_views()) reject_changed_views();
  for (const std::size_t i : bools_) {
    auto* elements = static_cast<std::byte*>(output_data_[i]);
    normalise_bools(elements, bytes_[inputs_.size() + i]);
  }
}

void PreparedCall::bind_views() {
  const std::int64_t* size = shared_sizes_.data();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    bind_view(inputs_[i], program_.binding.type(i), size);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    bind_view(outputs_[i], program_.graph.outputs[i].type(), size);
  }
}

bool PreparedCall::has_views() const {
  const std::int64_t* size = shared_sizes_.data();
  bool same = equal_sizes(sizes_, size) && equal_sizes(output_sizes_, size + sizes_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    same = same && is_bound(inputs_[i], program_.binding.type(i), size);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    same = same && outputs_[i].data == output_data_[i] &&
           is_bound(outputs_[i], program_.graph.outputs[i].type(), size);
  }
  return same;
}

void PreparedCall::reject_changed_views() {
  bind_views();
  sized_ = false;  // the next call writes the sizes again
  throw_broken(program_.instance->plugin(), program_.name, "frame_run",
               "changed a view that the host gave");
}

// ---- PreparedCallPool ----

std::size_t PreparedCallPool::first_slot() {
  const auto self = static_cast<std::uint64_t>(pthread_self());
  return static_cast<std::size_t>((self * 0x9e3779b97f4a7c15ull) >> 60);
}

PreparedCall& PreparedCallPool::acquire(const CompiledProgram& program, std::size_t first) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::atomic<PreparedCall*>& slot = slots_[(first + i) % slots_.size()].call;
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (PreparedCall* call = slot.exchange(nullptr, std::memory_order_acquire)) return *call;
  }
  {
    const std::lock_guard lock(mutex_);
    if (overflow_ != nullptr) return *std::exchange(overflow_, overflow_->next_idle_);
  }
  auto* const call = new PreparedCall(program);
  const std::lock_guard lock(mutex_);
  call->next_of_all_ = all_;
  return *(all_ = call);
}

void PreparedCallPool::release(PreparedCall& call, std::size_t first) noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::atomic<PreparedCall*>& slot = slots_[(first + i) % slots_.size()].call;
    PreparedCall* empty = nullptr;
    if (slot.compare_exchange_strong(empty, &call, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return;
    }
  }
  const std::lock_guard lock(mutex_);
  call.next_idle_ = overflow_;
  overflow_ = &call;
}

PreparedCallPool::~PreparedCallPool() {
  for (const Slot& slot : slots_) delete slot.call.load(std::memory_order_acquire);
  while (overflow_ != nullptr) delete std::exchange(overflow_, overflow_->next_idle_);
}

std::int64_t PreparedCallPool::calls() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const PreparedCall* call = all_; call != nullptr; call = call->next_of_all_) {
    sum += call->calls.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace kiln::runtime
