// Reads which one thing a fake plugin has to do wrong: the environment variable KILN_TEST_SPOILED,
// "<thing>" or "<field>:<how>".
#pragma once

#include "backends/abi/kiln_backend.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace spoil {

inline std::string_view fault() {
  const char* named = std::getenv("KILN_TEST_SPOILED");
  return named == nullptr ? std::string_view() : named;
}

inline bool is(std::string_view what) { return fault() == what; }

/// How that field is to be spoiled; empty where it stays valid.
inline std::string_view how(std::string_view field) {
  std::string_view named = fault();
  if (!named.starts_with(field) || named.size() <= field.size()) return {};
  return named[field.size()] == ':' ? named.substr(field.size() + 1) : std::string_view();
}

constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 61;

/// The text, spoiled if the fault is in that field.
inline kiln_string text(std::string_view field, std::string_view good) {
  static const std::string megabytes(std::size_t{2} << 20, 'x');
  const std::string_view way = how(field);
  if (way == "null") return {nullptr, 5};
  if (way == "absurd") return {good.data(), kAbsurd};
  if (way == "long") return {megabytes.data(), megabytes.size()};
  if (way == "utf8") return {"caf\xe9", 4};
  if (way == "overlong") return {"\xc0\xaf", 2};
  if (way == "surrogate") return {"\xed\xa0\x80", 3};
  if (way == "cut") return {"\xe2\x82", 2};
  if (way == "zero") return {"a\0b", 3};
  if (way == "control") return {"\x1b[31m\r\n\xc2\x9b", 9};
  return {good.data(), good.size()};
}

/// An array of one element, spoiled if the fault is in that field.
template <class T>
kiln_array array(std::string_view field, T& element) {
  static T slots[4];  // one for each array of a call
  static unsigned next = 0;
  T& wrong = slots[next++ % 4];
  const std::string_view way = how(field);
  kiln_array array{&element, 1, sizeof(T)};
  wrong = element;
  if (way == "null") array.data = nullptr;
  if (way == "absurd") array.count = kAbsurd;
  if (way == "stride") array.element_stride = 4;
  if (way == "wide") array.element_stride = kAbsurd;
  if (way == "uneven") array.element_stride = sizeof(T) + 4;
  if (way == "odd") array.data = reinterpret_cast<const char*>(&element) + 1;
  if (way == "no_size") wrong.struct_size = 0;
  if (way == "size") wrong.struct_size = kAbsurd;
  if (way == "overlap") wrong.struct_size = 2 * sizeof(T);
  if (way == "no_size" || way == "size" || way == "overlap") array.data = &wrong;
  static kiln_ext ring{};
  ring = {sizeof(ring), &ring, 77, 0, 0};
  if (way == "ring") {
    wrong.next = &ring;
    array.data = &wrong;
  }
  return array;
}

/// Throws if the fault is in that entry.
inline void maybe_throw(std::string_view entry) {
  if (how("throw") == entry) throw std::string("no exception class");
}

}  // namespace spoil
