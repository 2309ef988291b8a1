// Clusters contain their boxes and inner clusters; arrows follow at the end.
#include "core/picture/print_dot.h"

#include "core/types/at.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::picture {
namespace {

constexpr std::size_t kMaxLine = 56, kMaxName = 80, kMaxLines = 12, kMaxSources = 3, kMaxRemote = 8;

constexpr const char* kLegend =
    "·: an operand that an arrow leads to; #1: a result that another part reads; "
    "dashed: to the next iteration or repetition";

/// Attributes of the boxes of a style, in the order of its enumerators.
const char* attributes(BoxStyle style) {
  switch (style) {
    case BoxStyle::Input: return "shape=ellipse, fillcolor=\"#fff3c4\"";
    case BoxStyle::Result: return "shape=ellipse, fillcolor=\"#d8f0d3\"";
    case BoxStyle::Choice: return "shape=diamond, fillcolor=\"#ffffff\"";
    case BoxStyle::Work: return "fillcolor=\"#ffffff\"";
    case BoxStyle::Reduction: return "fillcolor=\"#ece4f7\"";
    case BoxStyle::Contraction: return "fillcolor=\"#cfe2f8\"";
    case BoxStyle::Kernel: return "fillcolor=\"#f6efe2\"";
    case BoxStyle::Host: return "shape=hexagon, fillcolor=\"#f7dcd6\"";
  }
  return "";
}

const char* attributes(Group::Kind kind) {
  switch (kind) {
    case Group::Kind::Part: return "color=\"#808080\"; style=\"rounded,bold\"; fontsize=14;";
    case Group::Kind::Scope:
      return "color=\"#a0a0a0\"; fillcolor=\"#0000000c\"; style=\"rounded,filled\";";
    case Group::Kind::Loop: return "color=\"#3b6fb5\"; style=\"rounded,bold\";";
    case Group::Kind::Branch: return "color=\"#b5803b\"; style=\"rounded,bold\";";
    case Group::Kind::Parallel: return "color=\"#5a9e4b\"; style=\"rounded,dashed\";";
  }
  return "";
}

const char* attributes(Arrow::Kind kind) {
  switch (kind) {
    case Arrow::Kind::Value: return "";
    case Arrow::Kind::Remote: return "";
    case Arrow::Kind::Next: return " [style=dashed, constraint=false, color=\"#3b6fb5\"]";
  }
  return "";
}

/// The lines, with a remark for those beyond `limit`.
void append_lines(std::string& label, const std::vector<std::string>& lines, std::size_t limit) {
  const std::size_t shown = lines.size() <= limit + 1 ? lines.size() : limit;
  for (std::size_t i = 0; i < shown; ++i) label += escaped(lines[i], kMaxLine) + "\\n";
  if (shown < lines.size()) label += text("and ", lines.size() - shown, " more\\n");
}

/// The numbers for arrows between parts of a picture, which would cross all of it.
struct Remote {
  int number = 0;  // of the box's result; 0: no other part reads it
  std::vector<int> reads = {};
};

std::vector<Remote> remotes_of(const Picture& picture) {
  std::vector<Remote> remotes(picture.boxes.size());
  for (const Arrow& arrow : picture.arrows) {
    if (arrow.kind == Arrow::Kind::Remote) remotes[at(arrow.from)].number = 1;
  }
  int next = 0;
  for (Remote& one : remotes) {
    if (one.number > 0) one.number = ++next;
  }
  for (const Arrow& arrow : picture.arrows) {
    if (arrow.kind != Arrow::Kind::Remote) continue;
    remotes[at(arrow.to)].reads.push_back(remotes[at(arrow.from)].number);
  }
  return remotes;
}

std::string label_of(const Box& box, const Remote& remote) {
  std::string label;
  if (box.copies > 1) label += text(box.copies, " times, for example:\\n");
  append_lines(label, box.title, kMaxLines);
  append_lines(label, box.work, kMaxLines);
  if (!box.type.empty()) label += escaped(box.type, kMaxLine) + "\\n";
  append_lines(label, box.sources, kMaxSources);
  if (!remote.reads.empty()) {
    label += "reads";
    const std::size_t shown = std::min(remote.reads.size(), kMaxRemote);
    for (std::size_t i = 0; i < shown; ++i) label += text(" #", remote.reads[i]);
    if (shown < remote.reads.size()) label += text(" and ", remote.reads.size() - shown, " more");
    label += "\\n";
  }
  if (remote.number > 0) label += text("result #", remote.number, "\\n");
  if (label.ends_with("\\n")) label.resize(label.size() - 2);
  return label;
}

std::string label_of(const Group& group) {
  if (group.copies == 1) return escaped(group.name, kMaxName);
  return text(escaped(group.name, kMaxName), " ... ", escaped(group.last, kMaxName), ": ",
              group.copies, " times");
}

class DotPrinter {
 public:
  explicit DotPrinter(const Picture& picture)
      : picture_(picture),
        groups_(picture.groups.size()),
        boxes_(picture.groups.size()),
        remotes_(remotes_of(picture)) {
    for (std::size_t g = 1; g < picture.groups.size(); ++g) {
      groups_[at(picture.groups[g].parent)].push_back(g);
    }
    for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
      boxes_[at(picture.boxes[i].group)].push_back(i);
    }
  }

  std::string print() {
    out_ = text("digraph \"", escaped(picture_.title, kMaxName), "\" {\n");
    // The limits keep the time of large pictures at seconds; crossings that are left are few.
    out_ +=
        text("  graph [label=\"", escaped(picture_.title, kMaxName), "\\n", kLegend,
             "\", labelloc=t, labeljust=l, fontname=Helvetica, fontsize=12, nslimit=4, nslimit1=4, "
             "mclimit=0.6, ranksep=0.3, nodesep=0.2];\n");
    out_ +=
        "  node [shape=box, style=filled, color=\"#606060\", fontname=Helvetica, fontsize=10, "
        "height=0.2, margin=\"0.08,0.04\"];\n  edge [arrowsize=0.6, color=\"#404040\"];\n";
    print_group(0, "  ");
    for (const Arrow& arrow : picture_.arrows) {
      if (arrow.kind == Arrow::Kind::Remote) continue;
      out_ += text("  n", arrow.from, " -> n", arrow.to, attributes(arrow.kind), ";\n");
    }
    return std::move(out_) + "}\n";
  }

 private:
  void print_group(std::size_t group, const std::string& indent) {
    for (const std::size_t i : boxes_[group]) {
      const Box& box = picture_.boxes[i];
      out_ += text(indent, "n", i, " [label=\"", label_of(box, remotes_[i]), "\", ",
                   attributes(box.style), box.copies > 1 ? ", peripheries=2" : "", "];\n");
    }
    for (const std::size_t inner : groups_[group]) {
      const Group& one = picture_.groups[inner];
      out_ += text(indent, "subgraph cluster_", inner, " {\n", indent, "  label=\"", label_of(one),
                   "\";\n", indent, "  ", attributes(one.kind),
                   one.copies > 1 ? " peripheries=2;" : "", "\n");
      print_group(inner, indent + "  ");
      out_ += indent + "}\n";
    }
  }

  const Picture& picture_;
  std::vector<std::vector<std::size_t>> groups_, boxes_;  // of each group, those directly in it
  std::vector<Remote> remotes_;  // of each box
  std::string out_;
};

}  // namespace

std::string escaped(std::string_view words, std::size_t limit) {
  std::string out;
  for (std::size_t count = 0; !words.empty(); ++count) {
    if (count == limit) return out + "...";
    const std::size_t length = std::max<std::size_t>(utf8_length(words), 1);
    const char first = words[0];
    if (length > 1) {
      out += words.substr(0, length);
    } else if (first == '"' || first == '\\') {
      out += text('\\', first);
    } else if (first == '&') {
      out += "&amp;";
    } else {
      const auto byte = static_cast<unsigned char>(first);
      out += byte < 0x20 || byte == 0x7f ? ' ' : byte >= 0x80 ? '?' : first;
    }
    words.remove_prefix(length);
  }
  return out;
}

std::string print_dot(const Picture& picture) { return DotPrinter(picture).print(); }

}  // namespace kiln::picture
