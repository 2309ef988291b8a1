// Finds what depends on inputs along the arrows, then moves users before their sources.
#include "core/picture/hoist_shared.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::picture {
namespace {

/// Of each box, the boxes that read it.
using Users = std::vector<std::vector<int>>;

/// The boxes that depend on an input, or on another part of the picture.
std::vector<bool> dependent_boxes(const Picture& picture, const Users& users) {
  std::vector<bool> depends(picture.boxes.size(), false);
  std::vector<int> open;
  const auto add = [&](int box) {
    if (depends[at(box)]) return;
    depends[at(box)] = true;
    open.push_back(box);
  };
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    if (picture.boxes[i].style == BoxStyle::Input) add(static_cast<int>(i));
  }
  for (const Arrow& arrow : picture.arrows) {
    if (arrow.kind != Arrow::Kind::Value) add(arrow.to);
  }
  while (!open.empty()) {
    const int box = open.back();
    open.pop_back();
    for (const int user : users[at(box)]) add(user);
  }
  return depends;
}

int common_group(const Picture& picture, int a, int b) {
  while (!picture.is_within(b, a)) a = picture.groups[at(a)].parent;
  return a;
}

}  // namespace

void hoist_shared(Picture& picture) {
  Users users(picture.boxes.size());
  for (const Arrow& arrow : picture.arrows) {
    if (arrow.kind == Arrow::Kind::Value) users[at(arrow.from)].push_back(arrow.to);
  }
  const std::vector<bool> depends = dependent_boxes(picture, users);
  for (std::size_t i = picture.boxes.size(); i-- > 0;) {  // users come after their sources
    if (depends[i] || users[i].empty()) continue;
    int group = picture.boxes[at(users[i][0])].group;
    for (const int user : users[i]) {
      group = common_group(picture, group, picture.boxes[at(user)].group);
    }
    int& own = picture.boxes[i].group;
    int outer = own;
    const auto is_scope = [&] { return picture.groups[at(outer)].kind == Group::Kind::Scope; };
    while (outer != group && outer != 0 && is_scope()) outer = picture.groups[at(outer)].parent;
    if (outer == group) own = group;
  }
}

}  // namespace kiln::picture
