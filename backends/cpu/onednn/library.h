// The library's C interface with handles that close themselves; the only place where its versions
// 2 and 3 differ is here and in library.cpp. Statuses are thrown as LibraryFailure.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace kiln::cpu {

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
#endif
};
template <class T>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Destroy>;

#if DNNL_VERSION_MAJOR >= 3
using LayoutView = const_dnnl_memory_desc_t;
#else
using LayoutView = const dnnl_memory_desc_t*;
#endif

// Dimensions with strides; without strides the library chooses the layout ("any").
class Layout {
 public:
  explicit Layout(const std::vector<std::int64_t>& dims,
                  const std::vector<std::int64_t>& strides = {});
  // Plain bytes, for buffers whose layout only the primitive knows.
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

// The one CPU engine of the process; never destroyed, as products may outlive other statics.
dnnl_engine_t cpu_engine();

struct MatmulLayouts {
  Layout lhs, rhs, result;
  std::unique_ptr<Layout> bias;  // null without bias
};
Handle<dnnl_primitive_desc_t> describe_matmul(const MatmulLayouts& layouts);
/// Which tensor a convolution makes; in the order of the op's roles.
enum class LibraryRole : std::int64_t { Input, Kernel, Output };
struct ConvolutionLayouts {
  Layout input, kernel, output;
  std::vector<std::int64_t> strides, dilations, low, high;  // a dilation counts the gaps
};
Handle<dnnl_primitive_desc_t> describe_convolution(LibraryRole role,
                                                   const ConvolutionLayouts& layouts);
Handle<dnnl_primitive_desc_t> describe_reorder(LayoutView from, LayoutView to);
Handle<dnnl_primitive_t> make_primitive(const Handle<dnnl_primitive_desc_t>& desc);
Handle<dnnl_memory_t> make_memory(LayoutView layout);
Handle<dnnl_stream_t> make_stream();

LayoutView layout_of(const Handle<dnnl_primitive_desc_t>& desc, dnnl_query_t what);
std::size_t bytes_of(LayoutView layout);
/// Whether elements lie there as with those strides: blocks, if any, are a whole axis each.
bool lies_as(LayoutView layout, const std::vector<std::int64_t>& dims,
             const std::vector<std::int64_t>& strides);
const char* implementation_of(const Handle<dnnl_primitive_desc_t>& desc);

}  // namespace kiln::cpu
