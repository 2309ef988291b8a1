// DimVector: the dims of an Array.
#pragma once

#include <kiln/export.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kiln {

/// A read-only sequence of sizes that converts to std::vector. Up to kInline sizes are stored in
/// the object, so that an Array of usual rank allocates nothing for them; more are on the heap.
class DimVector {
 public:
  static constexpr std::size_t kInline = 6;
  using value_type = std::int64_t;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using const_reference = const std::int64_t&;
  using reference = const_reference;
  using const_iterator = const std::int64_t*;
  using iterator = const_iterator;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  DimVector() noexcept {}  // NOLINT: inline_ is not initialised
  explicit DimVector(std::span<const std::int64_t> sizes) : size_(sizes.size()) {
    if (!is_inline()) heap_ = new std::int64_t[size_];
    std::int64_t* to = is_inline() ? inline_ : heap_;
    for (const std::int64_t size : sizes) *to++ = size;  // for a few sizes faster than memcpy
  }
  DimVector(const DimVector& other) : DimVector(std::span(other.data(), other.size_)) {}
  DimVector(DimVector&& other) noexcept { take(other); }
  DimVector& operator=(DimVector other) noexcept {
    if (!is_inline()) delete[] heap_;
    take(other);
    return *this;
  }
  ~DimVector() {
    if (!is_inline()) delete[] heap_;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const std::int64_t* data() const noexcept { return is_inline() ? inline_ : heap_; }
  const std::int64_t& operator[](std::size_t i) const { return data()[i]; }
  /// std::out_of_range unless i < size().
  const std::int64_t& at(std::size_t i) const {
    if (i >= size_) throw std::out_of_range("DimVector::at");
    return data()[i];
  }
  const std::int64_t& front() const { return data()[0]; }
  const std::int64_t& back() const { return data()[size_ - 1]; }
  const_iterator begin() const& noexcept { return data(); }
  const_iterator begin() const&& = delete;  ///< would dangle
  const_iterator end() const noexcept { return data() + size_; }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

  operator std::vector<std::int64_t>() const { return {begin(), end()}; }  // NOLINT: implicit

  friend bool operator==(const DimVector& a, const DimVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const DimVector& a, const std::vector<std::int64_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const DimVector& a, const DimVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool is_inline() const noexcept { return size_ <= kInline; }
  void take(DimVector& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    heap_ = other.heap_;
    if (!is_inline()) return;
    for (std::size_t i = 0; i < size_; ++i) inline_[i] = other.inline_[i];
  }

  std::size_t size_ = 0;
  std::int64_t* heap_ = nullptr;  // valid unless is_inline()
  std::int64_t inline_[kInline];
};

}  // namespace kiln
