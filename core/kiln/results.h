// Results: a list of values that a function returns.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kiln {

/// A std::vector, and converts to one without a copy. An element taken from a temporary list is
/// returned by value: a reference to it would dangle after the statement, as in
/// `const auto& y = f({x})[0];`.
template <class T>
class Results : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  Results(std::vector<T> values) noexcept : std::vector<T>(std::move(values)) {}  // NOLINT

  T& operator[](std::size_t i) & { return list()[i]; }
  const T& operator[](std::size_t i) const& { return list()[i]; }
  T operator[](std::size_t i) && { return std::move(list()[i]); }
  /// std::out_of_range unless i < size().
  T& at(std::size_t i) & { return list().at(i); }
  const T& at(std::size_t i) const& { return list().at(i); }
  T at(std::size_t i) && { return std::move(list().at(i)); }
  T& front() & { return list().front(); }
  const T& front() const& { return list().front(); }
  T front() && { return std::move(list().front()); }
  T& back() & { return list().back(); }
  const T& back() const& { return list().back(); }
  T back() && { return std::move(list().back()); }
  typename std::vector<T>::iterator begin() & { return list().begin(); }
  typename std::vector<T>::const_iterator begin() const& { return list().begin(); }
  typename std::vector<T>::iterator begin() && = delete;  ///< would dangle, as data()
  T* data() & { return list().data(); }
  const T* data() const& { return list().data(); }
  T* data() && = delete;

 private:
  std::vector<T>& list() { return *this; }
  const std::vector<T>& list() const { return *this; }
};

}  // namespace kiln
