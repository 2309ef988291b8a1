// Typed positions in lists, so that an element of one list cannot stand for one of another.
#pragma once

#include <compare>
#include <cstddef>
#include <utility>
#include <vector>

namespace kiln {

/// The position of a Thing in its list, or none.
template <class Thing>
struct Id {
  int number = -1;  // -1: none

  constexpr Id() = default;
  constexpr explicit Id(int i) : number(i) {}
  constexpr explicit operator bool() const { return number >= 0; }
  constexpr Id next() const { return Id(number + 1); }
  constexpr Id& operator++() { return ++number, *this; }
  constexpr Id& operator--() { return --number, *this; }
  auto operator<=>(const Id&) const = default;
};

/// The ids in [first, last).
template <class Key>
struct IdRange {
  struct Iterator {
    Key id;
    Key operator*() const { return id; }
    Iterator& operator++() { return ++id, *this; }
    bool operator==(const Iterator&) const = default;
  };
  Key first, last;
  Iterator begin() const { return {first}; }
  Iterator end() const { return {last}; }
};

/// A list of things, or of a value for each of them, that only their ids subscript. `Values`: the
/// vector that stores it.
template <class Key, class Value, class Values = std::vector<Value>>
class IdVector : Values {
  using Base = Values;
  static std::size_t at(Key id) { return static_cast<std::size_t>(id.number); }

 public:
  using Base::assign, Base::back, Base::begin, Base::clear, Base::emplace_back, Base::empty,
      Base::end, Base::front, Base::push_back, Base::reserve, Base::resize, Base::size;
  using Base::Base;
  decltype(auto) operator[](Key id) { return Base::operator[](at(id)); }
  decltype(auto) operator[](Key id) const { return Base::operator[](at(id)); }
  bool operator==(const IdVector&) const = default;

  /// The id of back(); none where the list is empty.
  Key back_id() const { return Key(static_cast<int>(size()) - 1); }
  IdRange<Key> ids() const { return ids_after(Key()); }
  IdRange<Key> ids_after(Key id) const { return {id.next(), back_id().next()}; }
  Key add(Value value) { return push_back(std::move(value)), back_id(); }
};

}  // namespace kiln
