// Boxes of two scopes correspond if their refined colours do; the arrows are compared after that,
// since colours do not tell all graphs apart.
#include "core/picture/fold_repeats.h"

#include "core/picture/colour_refinement.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace kiln::picture {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The name with its numbers replaced by '#'. "dense" is the first of "dense_1", "dense_2".
std::string stem_of(const std::string& name) {
  std::string stem;
  for (const char c : name) {
    if (!is_digit(c)) {
      stem += c;
    } else if (!stem.ends_with('#')) {
      stem += '#';
    }
  }
  return stem.ends_with('#') ? stem : stem + "_#";
}

/// Maps each box to the one that is drawn for it.
class DrawnBoxes {
 public:
  explicit DrawnBoxes(Picture& picture) : picture_(picture), box_(picture.boxes.size()) {
    std::iota(box_.begin(), box_.end(), 0);
  }

  void replace(int box, int other) { box_[at(box)] = other; }

  /// Removes the boxes that were replaced.
  void apply() {
    std::vector<Arrow> arrows;
    arrows.swap(picture_.arrows);
    for (const Arrow& one : arrows) picture_.add(Arrow{find(one.from), find(one.to), one.kind});
    std::vector<bool> kept(box_.size());
    for (std::size_t i = 0; i < box_.size(); ++i) kept[i] = box_[i] == static_cast<int>(i);
    picture_.keep(kept);
  }

 private:
  /// The box that is drawn, found through boxes that were replaced themselves.
  int find(int box) const {
    while (box_[at(box)] != box) box = box_[at(box)];
    return box;
  }

  Picture& picture_;
  std::vector<int> box_;
};

/// A scope that is compared with others: its boxes, ordered by their colours, and the arrows
/// between them as pairs of positions in that order.
struct ScopeContents {
  std::vector<int> boxes, colours;
  std::set<std::pair<int, int>> arrows;

  bool is_equal(const ScopeContents& other) const {
    return colours == other.colours && arrows == other.arrows;
  }
};

class ScopeFolder {
 public:
  explicit ScopeFolder(Picture& picture) : picture_(picture), drawn_(picture) {
    for (std::size_t g = 0; g < picture.groups.size(); ++g) inner_.emplace_back();
    for (std::size_t g = 1; g < picture.groups.size(); ++g) {
      inner_[at(picture.groups[g].parent)].push_back(static_cast<int>(g));
    }
  }

  void fold() {
    fold_inside(0);
    drawn_.apply();
  }

 private:
  /// Folds the scopes directly in `group`, then those inside of the ones that are left.
  void fold_inside(int group) {
    std::map<std::string, std::vector<int>> alike;
    std::vector<int> left;
    for (const int inner : inner_[at(group)]) {
      const Group& one = picture_.groups[at(inner)];
      std::vector<int>& list = one.kind == Group::Kind::Scope ? alike[stem_of(one.name)] : left;
      list.push_back(inner);
    }
    for (const auto& [stem, scopes] : alike) {
      const std::vector<int> rest = scopes.size() == 1 ? scopes : fold_alike(scopes);
      left.insert(left.end(), rest.begin(), rest.end());
    }
    for (const int one : left) fold_inside(one);
  }

  /// Folds scopes of equal structure; returns those that stay.
  std::vector<int> fold_alike(const std::vector<int>& scopes) {
    const std::vector<int> part = parts(scopes);
    const std::vector<ScopeContents> contents = contents_of(scopes, part);
    std::vector<std::size_t> drawn_by(scopes.size());
    std::vector<int> stay;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      drawn_by[s] = s;
      for (std::size_t first = 0; first < s && drawn_by[s] == s; ++first) {
        if (drawn_by[first] == first && contents[first].is_equal(contents[s])) drawn_by[s] = first;
      }
      if (drawn_by[s] == s) {
        stay.push_back(scopes[s]);
      } else {
        replace(scopes[s], contents[s], scopes[drawn_by[s]], contents[drawn_by[s]]);
      }
    }
    for (Arrow& arrow : picture_.arrows) {
      const int from = part[at(arrow.from)], to = part[at(arrow.to)];
      const bool is_between = from >= 0 && to >= 0 && from != to;
      if (is_between && drawn_by[at(from)] == drawn_by[at(to)]) arrow.kind = Arrow::Kind::Next;
    }
    return stay;
  }

  void replace(int scope, const ScopeContents& contents, int first, const ScopeContents& drawn) {
    Group& group = picture_.groups[at(first)];
    ++group.copies;
    group.last = picture_.groups[at(scope)].name;
    for (std::size_t i = 0; i < contents.boxes.size(); ++i) {
      drawn_.replace(contents.boxes[i], drawn.boxes[i]);
    }
  }

  /// Of each box, the index of the scope that it is inside of; -1 for none.
  std::vector<int> parts(const std::vector<int>& scopes) const {
    std::vector<int> of_group(picture_.groups.size(), -1);  // a group comes after its parent
    for (std::size_t s = 0; s < scopes.size(); ++s) of_group[at(scopes[s])] = static_cast<int>(s);
    for (std::size_t g = 1; g < of_group.size(); ++g) {
      if (of_group[g] < 0) of_group[g] = of_group[at(picture_.groups[g].parent)];
    }
    std::vector<int> part;
    for (const Box& box : picture_.boxes) part.push_back(of_group[at(box.group)]);
    return part;
  }

  std::vector<ScopeContents> contents_of(const std::vector<int>& scopes,
                                         const std::vector<int>& part) const {
    std::vector<std::string> labels(part.size());
    std::vector<ScopeContents> contents(scopes.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] < 0) continue;
      const Box& box = picture_.boxes[i];
      labels[i] = text(box.structure, ": ", box.type, path_of(box.group, scopes[at(part[i])]));
      contents[at(part[i])].boxes.push_back(static_cast<int>(i));
    }
    const std::vector<int> colours = refine_colours(picture_, part, labels);
    std::vector<int> position(part.size(), -1);
    for (ScopeContents& one : contents) {
      std::stable_sort(one.boxes.begin(), one.boxes.end(),
                       [&](int a, int b) { return colours[at(a)] < colours[at(b)]; });
      for (const int box : one.boxes) {
        position[at(box)] = static_cast<int>(one.colours.size());
        one.colours.push_back(colours[at(box)]);
      }
    }
    for (const Arrow& arrow : picture_.arrows) {
      const int from = part[at(arrow.from)];
      if (from < 0 || from != part[at(arrow.to)]) continue;
      contents[at(from)].arrows.emplace(position[at(arrow.from)], position[at(arrow.to)]);
    }
    return contents;
  }

  std::string path_of(int group, int scope) const {
    std::string path;
    for (; group != scope; group = picture_.groups[at(group)].parent) {
      path += "/" + stem_of(picture_.groups[at(group)].name);
    }
    return path;
  }

  Picture& picture_;
  DrawnBoxes drawn_;
  std::vector<std::vector<int>> inner_;  // of each group, those directly in it
};

}  // namespace

void fold_scopes(Picture& picture) { ScopeFolder(picture).fold(); }

void fold_boxes(Picture& picture, int group) {
  std::vector<int> part(picture.boxes.size(), -1);
  std::vector<std::string> labels(picture.boxes.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!picture.is_within(picture.boxes[i].group, group)) continue;
    part[i] = 0;
    labels[i] = text(picture.boxes[i].structure, " in ", picture.boxes[i].group);
  }
  const std::vector<int> colours = refine_colours(picture, part, labels);
  std::map<int, int> first;  // box of each colour
  DrawnBoxes drawn(picture);
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] < 0) continue;
    const auto [entry, is_new] = first.emplace(colours[i], static_cast<int>(i));
    if (is_new) continue;
    ++picture.boxes[at(entry->second)].copies;
    drawn.replace(static_cast<int>(i), entry->second);
  }
  drawn.apply();
}

}  // namespace kiln::picture
