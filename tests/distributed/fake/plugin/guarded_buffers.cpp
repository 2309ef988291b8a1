// Protects whole pages with mprotect, and compares bytes.
#include "tests/distributed/fake/plugin/guarded_buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace kiln::fake {
namespace {

/// Memory that was never writable stays as it is: mprotect returns an error that needs no action.
void set_protection(Bytes bytes, int protection) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes.size()) / page * page;
  if (first < last) ::mprotect(reinterpret_cast<void*>(first), last - first, protection);
}

bool has_common_byte(Bytes a, Bytes b) {
  if (a.empty() || b.empty()) return false;
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

std::string overlap(const TransferBuffers& started, const TransferBuffers& other) {
  if (has_common_byte(started.received, other.received)) return "receive overlaps receive";
  if (has_common_byte(started.received, other.sent)) return "receive overlaps send";
  if (has_common_byte(started.sent, other.received)) return "send overlaps receive";
  return "";
}

GuardedBuffers::GuardedBuffers(const TransferBuffers& buffers, const std::byte* copy)
    : buffers_(buffers), copy_(copy) {
  std::fill(buffers_.received.begin(), buffers_.received.end(), kPoison);
  protect();
}

void GuardedBuffers::protect() const {
  set_protection(buffers_.sent, PROT_READ);
  set_protection(buffers_.received, PROT_NONE);
}

void GuardedBuffers::unprotect() const {
  set_protection(buffers_.sent, PROT_READ | PROT_WRITE);
  set_protection(buffers_.received, PROT_READ | PROT_WRITE);
}

std::string GuardedBuffers::change() const {
  const auto is_poison = [](std::byte byte) { return byte == kPoison; };
  if (!std::all_of(buffers_.received.begin(), buffers_.received.end(), is_poison)) {
    return "receive was changed in flight";
  }
  if (!std::equal(buffers_.sent.begin(), buffers_.sent.end(), copy_)) {
    return "send was changed in flight";
  }
  return "";
}

}  // namespace kiln::fake
