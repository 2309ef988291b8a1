// Numbers the colours of each round by first use, so that they depend on the picture alone.
#include "core/picture/colour_refinement.h"

#include "core/types/at.h"

#include <algorithm>
#include <map>

namespace kiln::picture {
namespace {

constexpr int kMaxRounds = 64;

/// Numbers for keys, by first use.
template <class Key>
class Numbering {
 public:
  int operator()(const Key& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Key, int> numbers_;
};

}  // namespace

std::vector<int> refine_colours(const Picture& picture, const std::vector<int>& part,
                                const std::vector<std::string>& labels) {
  std::vector<int> colours(labels.size(), -1);
  Numbering<std::string> of_labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (part[i] >= 0) colours[i] = of_labels(labels[i]);
  }
  std::vector<Arrow> inner;
  for (const Arrow& arrow : picture.arrows) {
    const int from = part[at(arrow.from)];
    if (from >= 0 && from == part[at(arrow.to)]) inner.push_back(arrow);
  }
  std::size_t count = of_labels.size();
  for (int round = 0; round < kMaxRounds; ++round) {
    // The colour, then the colours of neighbours: even numbers of sources, odd ones of users.
    std::vector<std::vector<int>> keys(labels.size());
    for (const Arrow& arrow : inner) {
      keys[at(arrow.to)].push_back(2 * colours[at(arrow.from)]);
      keys[at(arrow.from)].push_back(2 * colours[at(arrow.to)] + 1);
    }
    Numbering<std::vector<int>> next;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (colours[i] < 0) continue;
      std::sort(keys[i].begin(), keys[i].end());
      keys[i].insert(keys[i].begin(), colours[i]);
      colours[i] = next(keys[i]);
    }
    if (next.size() == count) break;
    count = next.size();
  }
  return colours;
}

}  // namespace kiln::picture
