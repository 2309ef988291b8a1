// Objects behind opaque handles. Handles are never reused, so that a destroyed one stays unknown.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

namespace kiln::fake_cuda {

/// Numbers for handles of all kinds; none is an address of anything.
inline std::uint64_t next_handle() {
  static std::atomic<std::uint64_t> count{0};
  return 0x1000 + 16 * ++count;
}

template <class Handle>
Handle to_handle(std::uint64_t number) {
  return (Handle)number;  // a pointer or a number
}

template <class Handle, class Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const Handle handle = to_handle<Handle>(next_handle());
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Null for unknown handles.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Destroys the handle; null for unknown ones.
  std::shared_ptr<Object> take(Handle handle) {
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  std::size_t size() const { return objects_.size(); }
  const std::map<Handle, std::shared_ptr<Object>>& all() const { return objects_; }

 private:
  std::map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace kiln::fake_cuda
