// Dots by their labels, and whether the library takes each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cuda_test {

struct MatmulForm {
  const char* lhs;
  const char* rhs;
  const char* result;
  bool is_taken;  // by the library; false: a kernel computes it
};

/// Labels are letters; see dims_of().
inline constexpr MatmulForm kMatmulForms[] = {
    {"k", "k", "", false},  // a reduction
    {"k", "kj", "j", true},          {"ik", "k", "i", true},
    {"i", "j", "ij", false},  // nothing is summed
    {"i", "j", "ji", false},         {"ik", "kj", "ij", true},
    {"ki", "kj", "ij", true},        {"ik", "jk", "ij", true},
    {"ki", "jk", "ij", true},        {"ik", "kj", "ji", true},
    {"ki", "jk", "ji", true},        {"aik", "kj", "aij", true},   // rows of two axes
    {"ik", "kaj", "iaj", true},   // columns of two axes
    {"iak", "akj", "ij", true},   // K of two axes
    {"iak", "kaj", "ij", false},  // which do not merge into one
    {"aik", "akj", "aij", true},  // one batch axis
    {"aki", "ajk", "aij", true},     {"iak", "akj", "aij", true},
    {"iak", "kaj", "iaj", true},     {"aik", "akj", "iaj", true},
    {"aik", "akj", "ija", false},    // no axis of the result is contiguous
    {"abik", "abkj", "abij", true},  // two that merge
    {"abik", "bakj", "abij", false}, {"akb", "kj", "abj", true},  // a loop around the matmul
    {"aik", "abkj", "abij", false},  {"a", "a", "a", false},
    {"ai", "aj", "aij", false},      {"ak", "ak", "a", false},
    {"aik", "ak", "ai", true},
};

/// The labels as numbers.
inline std::vector<std::int64_t> labels_of(const std::string& letters) {
  return {letters.begin(), letters.end()};
}

/// The sizes of the labels, in the order of `letters`.
inline std::vector<std::int64_t> dims_of(const std::string& letters,
                                         const std::map<char, std::int64_t>& sizes) {
  std::vector<std::int64_t> dims;
  for (const char letter : letters) dims.push_back(sizes.at(letter));
  return dims;
}

}  // namespace cuda_test
