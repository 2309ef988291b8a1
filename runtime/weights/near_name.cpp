// Near-miss names: a few edits apart, or equal except for a prefix.
#include "core/types/nearest.h"
#include "runtime/weights/weights_match.h"

#include <algorithm>

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxLength = 200;       // of compared names
constexpr std::size_t kMaxCandidates = 1000;  // per name

bool ends_with_part(const std::string& name, const std::string& part) {
  if (name.size() <= part.size() || part.empty() || !name.ends_with(part)) return false;
  const char before = name[name.size() - part.size() - 1];
  return before == '/' || before == '.' || before == ':';
}

/// Returns the edit distance; 0 for names that differ only by a prefix.
std::size_t distance(const std::string& name, const std::string& other) {
  if (ends_with_part(name, other) || ends_with_part(other, name)) return 0;
  return edit_distance(name, other);
}

}  // namespace

std::string near_name(const std::string& name, std::span<const std::string> names) {
  std::string nearest;
  if (name.size() > kMaxLength) return nearest;
  std::size_t limit = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& other : names.first(std::min(names.size(), kMaxCandidates))) {
    if (other.size() > kMaxLength) continue;
    const std::size_t edits = distance(name, other);
    if (edits >= limit || edits >= std::max(name.size(), other.size())) continue;
    limit = edits;
    nearest = other;
  }
  return nearest;
}

}  // namespace kiln::runtime
