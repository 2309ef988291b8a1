// Wraps oneDNN's C interface in owning handles. This header and library.cpp are the only places
// where versions 2 and 3 differ. All functions throw LibraryFailure for a status that is not
// success.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kiln::cpu {

/// A oneDNN call that failed.
struct LibraryFailure {
  const char* call;
  dnnl_status_t status;
};

inline void check(dnnl_status_t status, const char* call) {
  if (status != dnnl_success) throw LibraryFailure{call, status};
}

struct Destroy {
  void operator()(dnnl_primitive_desc_t p) const noexcept { dnnl_primitive_desc_destroy(p); }
  void operator()(dnnl_primitive_t p) const noexcept { dnnl_primitive_destroy(p); }
  void operator()(dnnl_primitive_attr_t p) const noexcept { dnnl_primitive_attr_destroy(p); }
  void operator()(dnnl_memory_t p) const noexcept { dnnl_memory_destroy(p); }
  void operator()(dnnl_stream_t p) const noexcept { dnnl_stream_destroy(p); }
#if DNNL_VERSION_MAJOR >= 3
  void operator()(dnnl_memory_desc_t p) const noexcept { dnnl_memory_desc_destroy(p); }
#else
  void operator()(dnnl_primitive_desc_iterator_t p) const noexcept {
    dnnl_primitive_desc_iterator_destroy(p);
  }
#endif
};
template <class T>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Destroy>;

#if DNNL_VERSION_MAJOR >= 3
using LayoutView = const_dnnl_memory_desc_t;
#else
using LayoutView = const dnnl_memory_desc_t*;
#endif

/// A memory descriptor of float32: dimensions with strides; without strides oneDNN chooses the
/// layout ("any").
class Layout {
 public:
  explicit Layout(const std::vector<std::int64_t>& dims,
                  const std::vector<std::int64_t>& strides = {});
  /// Plain bytes, for buffers whose layout is opaque.
  static Layout bytes(std::size_t count);
  static Layout copy(LayoutView layout);
#if DNNL_VERSION_MAJOR >= 3
  LayoutView view() const noexcept { return desc_.get(); }
#else
  LayoutView view() const noexcept { return &desc_; }
#endif

 private:
  Layout() = default;
#if DNNL_VERSION_MAJOR >= 3
  Handle<dnnl_memory_desc_t> desc_;
#else
  dnnl_memory_desc_t desc_;
#endif
};

/// The one CPU engine of the process. Never destroyed: matmuls may outlive static objects.
dnnl_engine_t cpu_engine();

struct MatmulLayouts {
  Layout lhs, rhs, result;
  std::unique_ptr<Layout> bias;  // null without bias
};
Handle<dnnl_primitive_desc_t> describe_matmul(const MatmulLayouts& layouts);
/// The tensor that a convolution computes: gradient of the input, gradient of the filter, output.
/// In the order of ir::ConvRole.
enum class ConvolutionPass : std::int64_t { BackwardData, BackwardWeights, Forward };
struct ConvolutionLayouts {
  Layout input, filter, output;
  /// `low`, `high`: padding before and after; a dilation counts the gaps.
  std::vector<std::int64_t> strides, dilations, low, high;
  /// Prefix of the names of implementations to skip; empty: takes oneDNN's first choice.
  std::string_view avoided = {};
};
/// Also fails where oneDNN has no implementation, or only avoided ones.
Handle<dnnl_primitive_desc_t> describe_convolution(ConvolutionPass pass,
                                                   const ConvolutionLayouts& layouts);
Handle<dnnl_primitive_desc_t> describe_reorder(LayoutView from, LayoutView to);
Handle<dnnl_primitive_t> make_primitive(const Handle<dnnl_primitive_desc_t>& desc);
Handle<dnnl_memory_t> make_memory(LayoutView layout);
Handle<dnnl_stream_t> make_stream();

LayoutView layout_of(const Handle<dnnl_primitive_desc_t>& desc, dnnl_query_t what);
std::size_t bytes_of(LayoutView layout);
/// Whether the layout is plain with these strides; a blocked layout is when its block is a whole
/// axis.
bool has_strides(LayoutView layout, const std::vector<std::int64_t>& dims,
                 const std::vector<std::int64_t>& strides);
/// Whether both describe the same layout of the same dimensions.
bool is_equal(LayoutView a, LayoutView b);
const char* implementation_of(const Handle<dnnl_primitive_desc_t>& desc);

}  // namespace kiln::cpu
