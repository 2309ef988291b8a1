// Errors inside the fake communicator; none crosses its C interface.
#pragma once

#include "backends/abi/kiln_communicator.h"

#include <stdexcept>
#include <string>

namespace kiln::fake {

class Failure : public std::runtime_error {
 public:
  Failure(std::uint32_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  std::uint32_t code() const { return code_; }

 private:
  std::uint32_t code_;
};

/// The host broke a rule of the interface: an error on all ranks, as real libraries would corrupt
/// data or wait for ever.
class Misuse : public Failure {
 public:
  explicit Misuse(const std::string& text) : Failure(KILN_CODE_INVALID_ARGUMENT, text) {}
};

}  // namespace kiln::fake
