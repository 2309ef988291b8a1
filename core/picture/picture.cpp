// Adds and removes the elements of a picture.
#include "core/picture/picture.h"

#include "core/types/at.h"

#include <set>
#include <utility>

namespace kiln::picture {

int Picture::add(Box box) {
  boxes.push_back(std::move(box));
  return static_cast<int>(boxes.size()) - 1;
}

int Picture::add(Group group) {
  groups.push_back(std::move(group));
  return static_cast<int>(groups.size()) - 1;
}

void Picture::add(const Arrow& arrow) {
  if (arrow.from != arrow.to) arrows.push_back(arrow);
}

bool Picture::is_within(int group, int outer) const {
  while (group != outer && group >= 0) group = groups[at(group)].parent;
  return group == outer;
}

void Picture::keep(const std::vector<bool>& kept) {
  std::vector<int> box_numbers(boxes.size(), -1), group_numbers(groups.size(), -1);
  std::vector<bool> has_box(groups.size(), false);
  has_box[0] = true;
  std::vector<Box> kept_boxes;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!kept[i]) continue;
    for (int g = boxes[i].group; g >= 0 && !has_box[at(g)]; g = groups[at(g)].parent) {
      has_box[at(g)] = true;
    }
    box_numbers[i] = static_cast<int>(kept_boxes.size());
    kept_boxes.push_back(std::move(boxes[i]));
  }
  std::vector<Group> kept_groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!has_box[g]) continue;
    group_numbers[g] = static_cast<int>(kept_groups.size());
    kept_groups.push_back(std::move(groups[g]));
    int& parent = kept_groups.back().parent;  // is before its groups
    if (parent >= 0) parent = group_numbers[at(parent)];
  }
  std::set<Arrow> seen;
  std::erase_if(arrows, [&](Arrow& arrow) {
    arrow.from = box_numbers[at(arrow.from)];
    arrow.to = box_numbers[at(arrow.to)];
    return arrow.from < 0 || arrow.to < 0 || !seen.insert(arrow).second;
  });
  for (Box& box : kept_boxes) box.group = group_numbers[at(box.group)];
  boxes = std::move(kept_boxes);
  groups = std::move(kept_groups);
}

}  // namespace kiln::picture
