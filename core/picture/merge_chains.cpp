// Merges along the boxes in their order, in which sources come before their users.
#include "core/picture/merge_chains.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::picture {
namespace {

constexpr int kNone = -1, kSeveral = -2;

/// Of each box, its only neighbour on one side; kNone or kSeveral.
struct Neighbours {
  explicit Neighbours(const Picture& picture)
      : source(picture.boxes.size(), kNone), user(picture.boxes.size(), kNone) {
    for (const Arrow& arrow : picture.arrows) {
      if (arrow.kind == Arrow::Kind::Remote) continue;
      note(source[at(arrow.to)], arrow.from);
      note(user[at(arrow.from)], arrow.kind == Arrow::Kind::Next ? kSeveral : arrow.to);
    }
  }
  std::vector<int> source, user;

 private:
  static void note(int& only, int one) { only = only == kNone || only == one ? one : kSeveral; }
};

void append(Box& to, Box& from) {
  const auto add_new = [](std::vector<std::string>& list, std::vector<std::string>& more) {
    for (std::string& one : more) {
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(std::move(one));
    }
  };
  to.work.insert(to.work.end(), from.work.begin(), from.work.end());
  to.type = from.type;
  add_new(to.sources, from.sources);
  to.structure += "; " + from.structure;
  to.style = std::max(to.style, from.style);
}

}  // namespace

void merge_chains(Picture& picture) {
  const Neighbours neighbours(picture);
  std::vector<int> merged(picture.boxes.size());
  std::vector<bool> kept(picture.boxes.size(), true);
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    merged[i] = static_cast<int>(i);
    const int source = neighbours.source[i];
    if (source < 0 || source > merged[i] || neighbours.user[at(source)] != merged[i]) continue;
    Box& box = picture.boxes[i];
    Box& first = picture.boxes[at(merged[at(source)])];
    const bool is_work = std::min(first.style, box.style) >= BoxStyle::Work &&
                         std::max(first.style, box.style) <= BoxStyle::Contraction;
    const bool has_title = !first.title.empty() || !box.title.empty();
    if (!is_work || has_title || first.group != box.group) continue;
    append(first, box);
    merged[i] = merged[at(source)];
    kept[i] = false;
  }
  std::vector<Arrow> arrows;
  arrows.swap(picture.arrows);
  for (const Arrow& one : arrows) {
    picture.add(Arrow{merged[at(one.from)], merged[at(one.to)], one.kind});
  }
  picture.keep(kept);
}

}  // namespace kiln::picture
