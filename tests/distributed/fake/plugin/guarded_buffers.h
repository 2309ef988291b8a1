// Detects that the host touches the memory of a transfer in progress.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace kiln::fake {

using Bytes = std::span<std::byte>;

/// All bytes of memory that is to be received, while it is not: NaN in every floating dtype, true.
inline constexpr std::byte kPoison{0xff};

/// The memory of one transfer: neither may be written by the host, `received` not even read.
struct TransferBuffers {
  Bytes sent, received;
};

/// Returns a text if one transfer writes what the other reads or writes, else "".
std::string overlap(const TransferBuffers& started, const TransferBuffers& other);

/// Poisons and protects the memory of a transfer from its start to its end. A forbidden access to
/// the pages that lie within a buffer ends the process at that access, also one by `free`; changes
/// of the bytes around them are found at the end.
class GuardedBuffers {
 public:
  /// `copy` has the bytes of `sent`.
  GuardedBuffers(const TransferBuffers& buffers, const std::byte* copy);
  ~GuardedBuffers() { unprotect(); }
  GuardedBuffers(const GuardedBuffers&) = delete;
  GuardedBuffers& operator=(const GuardedBuffers&) = delete;

  void protect() const;
  void unprotect() const;
  /// Returns "send was changed in flight" or such a text for `receive`, else "". REQUIRES: not
  /// protected.
  std::string change() const;
  const TransferBuffers& buffers() const { return buffers_; }

 private:
  TransferBuffers buffers_;
  const std::byte* copy_;
};

}  // namespace kiln::fake
