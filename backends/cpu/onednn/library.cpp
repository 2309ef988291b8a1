// Creates oneDNN's objects: all with a scratchpad that the caller gives and with strict float32
// arithmetic, regardless of environment variables of oneDNN.
#include "backends/cpu/onednn/library.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cpu/onednn/status.h"

namespace kiln::cpu {
namespace {

Handle<dnnl_primitive_attr_t> attributes() {
  dnnl_primitive_attr_t raw = nullptr;
  check(dnnl_primitive_attr_create(&raw), "primitive_attr_create");
  Handle<dnnl_primitive_attr_t> attr(raw);
  check(dnnl_primitive_attr_set_scratchpad_mode(raw, dnnl_scratchpad_mode_user),
        "primitive_attr_set_scratchpad_mode");
  check(dnnl_primitive_attr_set_fpmath_mode(raw, dnnl_fpmath_mode_strict),
        "primitive_attr_set_fpmath_mode");
  return attr;
}

}  // namespace

Layout::Layout(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides) {
  const int rank = static_cast<int>(dims.size());
#if DNNL_VERSION_MAJOR >= 3
  dnnl_memory_desc_t raw = nullptr;
  check(
      strides.empty()
          ? dnnl_memory_desc_create_with_tag(&raw, rank, dims.data(), dnnl_f32, dnnl_format_tag_any)
          : dnnl_memory_desc_create_with_strides(&raw, rank, dims.data(), dnnl_f32, strides.data()),
      "memory_desc_create");
  desc_.reset(raw);
#else
  check(strides.empty()
            ? dnnl_memory_desc_init_by_tag(&desc_, rank, dims.data(), dnnl_f32, dnnl_format_tag_any)
            : dnnl_memory_desc_init_by_strides(&desc_, rank, dims.data(), dnnl_f32, strides.data()),
        "memory_desc_init");
#endif
}

Layout Layout::bytes(std::size_t count) {
  const dnnl_dims_t dims = {static_cast<dnnl_dim_t>(count)};
  Layout layout;
#if DNNL_VERSION_MAJOR >= 3
  dnnl_memory_desc_t raw = nullptr;
  check(dnnl_memory_desc_create_with_tag(&raw, 1, dims, dnnl_u8, dnnl_a), "memory_desc_create");
  layout.desc_.reset(raw);
#else
  check(dnnl_memory_desc_init_by_tag(&layout.desc_, 1, dims, dnnl_u8, dnnl_a), "memory_desc_init");
#endif
  return layout;
}

Layout Layout::copy(LayoutView from) {
  Layout layout;
#if DNNL_VERSION_MAJOR >= 3
  dnnl_memory_desc_t raw = nullptr;
  check(dnnl_memory_desc_clone(&raw, from), "memory_desc_clone");
  layout.desc_.reset(raw);
#else
  layout.desc_ = *from;
#endif
  return layout;
}

dnnl_engine_t cpu_engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t raw = nullptr;
    check(dnnl_engine_create(&raw, dnnl_cpu, 0), "engine_create");
    return raw;
  }();
  return engine;
}

Handle<dnnl_primitive_desc_t> describe_matmul(const MatmulLayouts& layouts) {
  const auto attr = attributes();
  const LayoutView bias = layouts.bias ? layouts.bias->view() : nullptr;
  dnnl_primitive_desc_t raw = nullptr;
#if DNNL_VERSION_MAJOR >= 3
  check(
      dnnl_matmul_primitive_desc_create(&raw, cpu_engine(), layouts.lhs.view(), layouts.rhs.view(),
                                        bias, layouts.result.view(), attr.get()),
      "matmul_primitive_desc_create");
#else
  dnnl_matmul_desc_t operation;
  check(dnnl_matmul_desc_init(&operation, layouts.lhs.view(), layouts.rhs.view(), bias,
                              layouts.result.view()),
        "matmul_desc_init");
  check(dnnl_primitive_desc_create(&raw, &operation, attr.get(), cpu_engine(), nullptr),
        "primitive_desc_create");
#endif
  return Handle<dnnl_primitive_desc_t>(raw);
}

namespace {

bool is_avoided(const Handle<dnnl_primitive_desc_t>& desc, const ConvolutionLayouts& l) {
  return !l.avoided.empty() &&
         std::string_view(implementation_of(desc)).substr(0, l.avoided.size()) == l.avoided;
}

}  // namespace

#if DNNL_VERSION_MAJOR >= 3
Handle<dnnl_primitive_desc_t> describe_convolution(ConvolutionPass pass,
                                                   const ConvolutionLayouts& l) {
  const auto attr = attributes();
  const auto forward = [&](dnnl_prop_kind_t kind) {
    dnnl_primitive_desc_t raw = nullptr;
    check(dnnl_convolution_forward_primitive_desc_create(
              &raw, cpu_engine(), kind, dnnl_convolution_direct, l.input.view(), l.filter.view(),
              nullptr, l.output.view(), l.strides.data(), l.dilations.data(), l.low.data(),
              l.high.data(), attr.get()),
          "convolution_forward_primitive_desc_create");
    return Handle<dnnl_primitive_desc_t>(raw);
  };
  if (pass == ConvolutionPass::Forward) return forward(dnnl_forward_inference);
  const auto hint = forward(dnnl_forward_training);
  dnnl_primitive_desc_t raw = nullptr;
  const auto create = pass == ConvolutionPass::BackwardData
                          ? [](dnnl_primitive_desc_t* out, const ConvolutionLayouts& x,
                               dnnl_primitive_desc_t first, dnnl_primitive_attr_t with) {
                              return dnnl_convolution_backward_data_primitive_desc_create(
                                  out, cpu_engine(), dnnl_convolution_direct, x.input.view(),
                                  x.filter.view(), x.output.view(), x.strides.data(),
                                  x.dilations.data(), x.low.data(), x.high.data(), first, with);
                            }
                          : [](dnnl_primitive_desc_t* out, const ConvolutionLayouts& x,
                               dnnl_primitive_desc_t first, dnnl_primitive_attr_t with) {
                              return dnnl_convolution_backward_weights_primitive_desc_create(
                                  out, cpu_engine(), dnnl_convolution_direct, x.input.view(),
                                  x.filter.view(), nullptr, x.output.view(), x.strides.data(),
                                  x.dilations.data(), x.low.data(), x.high.data(), first, with);
                            };
  check(create(&raw, l, hint.get(), attr.get()), "convolution_backward_primitive_desc_create");
  Handle<dnnl_primitive_desc_t> desc(raw);
  while (is_avoided(desc, l)) {
    check(dnnl_primitive_desc_next_impl(desc.get()), "primitive_desc_next_impl");
  }
  return desc;
}
#else
Handle<dnnl_primitive_desc_t> describe_convolution(ConvolutionPass pass,
                                                   const ConvolutionLayouts& l) {
  const auto attr = attributes();
  dnnl_convolution_desc_t operation;
  const auto described = [&] {
    switch (pass) {
      case ConvolutionPass::BackwardData:
        return dnnl_dilated_convolution_backward_data_desc_init(
            &operation, dnnl_convolution_direct, l.input.view(), l.filter.view(), l.output.view(),
            l.strides.data(), l.dilations.data(), l.low.data(), l.high.data());
      case ConvolutionPass::BackwardWeights:
        return dnnl_dilated_convolution_backward_weights_desc_init(
            &operation, dnnl_convolution_direct, l.input.view(), l.filter.view(), nullptr,
            l.output.view(), l.strides.data(), l.dilations.data(), l.low.data(), l.high.data());
      case ConvolutionPass::Forward: break;
    }
    return dnnl_dilated_convolution_forward_desc_init(
        &operation, dnnl_forward_inference, dnnl_convolution_direct, l.input.view(),
        l.filter.view(), nullptr, l.output.view(), l.strides.data(), l.dilations.data(),
        l.low.data(), l.high.data());
  };
  check(described(), "convolution_desc_init");
  dnnl_primitive_desc_iterator_t raw = nullptr;
  check(dnnl_primitive_desc_iterator_create(&raw, &operation, attr.get(), cpu_engine(), nullptr),
        "primitive_desc_iterator_create");
  const Handle<dnnl_primitive_desc_iterator_t> implementations(raw);
  while (true) {
    Handle<dnnl_primitive_desc_t> desc(dnnl_primitive_desc_iterator_fetch(raw));
    if (!is_avoided(desc, l)) return desc;
    check(dnnl_primitive_desc_iterator_next(raw), "primitive_desc_iterator_next");
  }
}
#endif

Handle<dnnl_primitive_desc_t> describe_reorder(LayoutView from, LayoutView to) {
  const auto attr = attributes();
  dnnl_primitive_desc_t raw = nullptr;
  check(dnnl_reorder_primitive_desc_create(&raw, from, cpu_engine(), to, cpu_engine(), attr.get()),
        "reorder_primitive_desc_create");
  return Handle<dnnl_primitive_desc_t>(raw);
}

Handle<dnnl_primitive_t> make_primitive(const Handle<dnnl_primitive_desc_t>& desc) {
  dnnl_primitive_t raw = nullptr;
  check(dnnl_primitive_create(&raw, desc.get()), "primitive_create");
  return Handle<dnnl_primitive_t>(raw);
}

Handle<dnnl_memory_t> make_memory(LayoutView layout) {
  dnnl_memory_t raw = nullptr;
  check(dnnl_memory_create(&raw, layout, cpu_engine(), DNNL_MEMORY_NONE), "memory_create");
  return Handle<dnnl_memory_t>(raw);
}

Handle<dnnl_stream_t> make_stream() {
  dnnl_stream_t raw = nullptr;
  check(dnnl_stream_create(&raw, cpu_engine(), dnnl_stream_default_flags), "stream_create");
  return Handle<dnnl_stream_t>(raw);
}

LayoutView layout_of(const Handle<dnnl_primitive_desc_t>& desc, dnnl_query_t what) {
  return dnnl_primitive_desc_query_md(desc.get(), what, 0);
}

std::size_t bytes_of(LayoutView layout) { return layout ? dnnl_memory_desc_get_size(layout) : 0; }

namespace {

struct Blocks {
  bool known = false;
  std::int64_t count = 0;
  const dnnl_dim_t *padded = nullptr, *strides = nullptr, *sizes = nullptr, *axes = nullptr;
};

Blocks blocks_of(LayoutView layout) {
  Blocks b;
#if DNNL_VERSION_MAJOR >= 3
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  int count = 0;
  const auto query = [&](dnnl_query_t what, void* to) {
    check(dnnl_memory_desc_query(layout, what, to), "memory_desc_query");
  };
  query(dnnl_query_format_kind, &kind);
  if (kind != dnnl_blocked) return b;
  const dnnl_dims_t *padded = nullptr, *strides = nullptr, *sizes = nullptr, *axes = nullptr;
  query(dnnl_query_padded_dims, &padded);
  query(dnnl_query_strides, &strides);
  query(dnnl_query_inner_nblks_s32, &count);
  query(dnnl_query_inner_blks, &sizes);
  query(dnnl_query_inner_idxs, &axes);
  b = {true, count, *padded, *strides, *sizes, *axes};
#else
  if (layout->format_kind != dnnl_blocked) return b;
  const dnnl_blocking_desc_t& blocking = layout->format_desc.blocking;
  b = {true,
       blocking.inner_nblks,
       layout->padded_dims,
       blocking.strides,
       blocking.inner_blks,
       blocking.inner_idxs};
#endif
  return b;
}

}  // namespace

bool has_strides(LayoutView layout, const std::vector<std::int64_t>& dims,
                 const std::vector<std::int64_t>& strides) {
  const Blocks blocks = blocks_of(layout);
  if (!blocks.known || blocks.count > 1) return false;
  const std::int64_t whole = blocks.count == 1 ? blocks.axes[0] : -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (blocks.padded[i] != dims[i]) return false;
    if (static_cast<std::int64_t>(i) == whole) {
      if (blocks.sizes[0] != dims[i] || strides[i] != 1) return false;
    } else if (dims[i] != 1 && blocks.strides[i] != strides[i]) {
      return false;
    }
  }
  return true;
}

bool is_equal(LayoutView a, LayoutView b) { return dnnl_memory_desc_equal(a, b) != 0; }

const char* implementation_of(const Handle<dnnl_primitive_desc_t>& desc) {
  const char* name = nullptr;
  check(dnnl_primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, &name),
        "primitive_desc_query");
  return name;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

std::string onednn_machine() {
  const int isa = dnnl_get_effective_cpu_isa();
  return "oneDNN " + onednn_version() + " of ISA " + std::to_string(isa);
}

std::string status_text(int status) {
  switch (status) {
    case dnnl_success: return "success";
    case dnnl_out_of_memory: return "out of memory";
    case dnnl_invalid_arguments: return "invalid arguments";
    case dnnl_unimplemented: return "unimplemented";
    case dnnl_runtime_error: return "runtime error";
    default: return "status " + std::to_string(status);
  }
}

void fail_with(int status, const std::string& where) {
  const bool memory = status == dnnl_out_of_memory;
  throw sdk::Failure(memory ? KILN_CODE_RESOURCE_EXHAUSTED : KILN_CODE_INTERNAL,
                     "oneDNN: " + status_text(status) + " " + where);
}

}  // namespace kiln::cpu
