// Reads which one number or text a fake library has to report wrongly: the environment variable
// KILN_TEST_CUDA_LIE, "<name>=<value>". Names are those of NVIDIA's functions, or of attributes.
#pragma once

#include <concepts>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace kiln::fake_cuda {

/// The text to report; nothing: the honest one.
inline std::optional<std::string_view> lie(std::string_view name) {
  const char* const variable = std::getenv("KILN_TEST_CUDA_LIE");
  const std::string_view given = variable == nullptr ? "" : variable;
  if (!given.starts_with(name) || given.size() == name.size()) return std::nullopt;
  if (given[name.size()] != '=') return std::nullopt;
  return given.substr(name.size() + 1);
}

/// The number to report in the place of `honest`.
template <std::integral Number>
Number reported(std::string_view name, Number honest) {
  const auto value = lie(name);
  if (!value) return honest;
  return value->starts_with('-') ? static_cast<Number>(std::strtoll(value->data(), nullptr, 10))
                                 : static_cast<Number>(std::strtoull(value->data(), nullptr, 10));
}
inline float reported(std::string_view name, float honest) {
  const auto value = lie(name);
  return value ? std::strtof(value->data(), nullptr) : honest;
}

}  // namespace kiln::fake_cuda
