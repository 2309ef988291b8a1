// Falls back to the name of the op where a node has no K function.
#include "backends/codegen/inspect/source.h"

#include "backends/codegen/inspect/comment_text.h"
#include "core/ir/argument_text.h"
#include "core/ir/scope.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::size_t kNameWords = 4;
constexpr std::size_t kMaxScopeCharacters = 24;
constexpr std::size_t kMaxSources = 8;
constexpr std::size_t kMaxSourceCharacters = 160;  // without the folders of files

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A name that may be part of an identifier; for operators such as "+", the name of the op.
std::string name_of(const ir::Node& node) {
  const ir::Origin& origin = node.origin;
  const std::string_view function = origin.function;
  const bool plain =
      !function.empty() && std::all_of(function.begin(), function.end(), [](const char c) {
        return is_word_character(c) && !(c >= 'A' && c <= 'Z');
      });
  std::string name(plain ? function : def(node.op).name);
  if (origin.where.known()) name += text("_line", origin.where.line);
  return name;
}

/// "_layer_2": the name of the innermost scope, as part of an identifier.
std::string scope_word(const ir::Scope* scope) {
  if (scope == nullptr) return "";
  std::string word = "_" + scope->name.substr(0, kMaxScopeCharacters);
  std::replace_if(word.begin(), word.end(), [](char c) { return !is_word_character(c); }, '_');
  return word;
}

void add_new(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

/// The K functions of one line.
struct Line {
  Where where;
  std::vector<std::string> functions;
};
/// The lines of one scope.
struct SourceScope {
  std::string text;
  std::vector<Line> lines;
};

/// Lists sources as "exp, sum at a.cpp:3, dot at a.cpp:4 in encoder; add at b.cpp:7".
class Sources {
 public:
  void add(const ir::Node& node) {
    const ir::Origin& origin = node.origin;
    const std::string function(*origin.function == '\0' ? def(node.op).name : origin.function);
    std::vector<std::string>& functions = line_of(origin).functions;
    if (std::find(functions.begin(), functions.end(), function) != functions.end()) return;
    functions.push_back(function);
    ++count_;
  }

  std::string print() const {
    std::string out;
    std::size_t listed = 0, characters = 0;
    for (const SourceScope& scope : scopes_) {
      std::string of_scope;
      for (const Line& line : scope.lines) {
        if (listed != 0 && (listed >= kMaxSources || characters >= kMaxSourceCharacters)) continue;
        const std::string_view path = line.where.file;
        const std::string functions = join_text(line.functions);
        of_scope +=
            text(of_scope.empty() ? "" : ", ", functions, " at ", path, ":", line.where.line);
        characters += functions.size() + path.size() - (path.rfind('/') + 1);
        listed += line.functions.size();
      }
      if (of_scope.empty()) continue;
      out += (out.empty() ? "" : "; ") + of_scope + scope.text;
      characters += scope.text.size();
    }
    return listed == count_ ? out : text(out, " and ", count_ - listed, " more");
  }

 private:
  Line& line_of(const ir::Origin& origin) {
    const std::string scope = scope_text(origin);
    const auto of_scope = std::find_if(scopes_.begin(), scopes_.end(),
                                       [&](const SourceScope& one) { return one.text == scope; });
    if (of_scope == scopes_.end()) {
      return scopes_.emplace_back(SourceScope{scope, {{origin.where, {}}}}).lines.front();
    }
    std::vector<Line>& lines = of_scope->lines;
    const auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& one) {
      return ir::same_origin({one.where}, {origin.where});
    });
    return line == lines.end() ? lines.emplace_back(Line{origin.where, {}}) : *line;
  }

  std::vector<SourceScope> scopes_;
  std::size_t count_ = 0;
};

}  // namespace

std::string source_of(const ir::Node& node) {
  const std::string name = comment_text(argument_text(node));
  if (name.empty()) return source_text(node.origin, def(node.op).name);
  ir::Origin origin = node.origin;
  origin.function = "";
  return source_text(origin, name);
}

std::string name_of_argument(const ir::Node* node, int number) {
  const std::string name = node == nullptr ? "" : comment_text(argument_text(*node));
  return name.empty() ? text("argument ", number) : name;
}

KernelTitle kernel_title(const std::vector<const ir::Node*>& nodes, int number) {
  std::vector<std::string> words;
  Sources sources;
  for (const ir::Node* node : nodes) {
    add_new(words, name_of(*node));
    if (node->origin.where.known()) sources.add(*node);
  }
  KernelTitle title{text("k", number), sources.print()};
  if (!nodes.empty()) title.name += scope_word(nodes.front()->origin.scope);
  for (std::size_t i = 0; i < std::min(words.size(), kNameWords); ++i) title.name += "_" + words[i];
  if (words.size() > kNameWords) title.name += text("_and_", words.size() - kNameWords);
  return title;
}

}  // namespace kiln::codegen
