// Checks byte order marks and the depth before parsing.
#include "runtime/files/json.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <cctype>

namespace kiln::runtime {
namespace {

/// Rejects deep nesting before parsing, so that neither parser nor destructor recurses deeply.
void require_shallow(std::string_view input, const std::string& what) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const char c = input[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        malformed_json(input, i, what, text("nesting is deeper than ", kMaxJsonDepth));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

/// Rejects the marks that editors write before the text, which the parser would call invalid.
void require_no_mark(std::string_view input, const std::string& what) {
  if (input.starts_with("\xef\xbb\xbf")) {
    malformed_json(input, 0, what, "a byte order mark; save it as UTF-8 without one");
  }
  if (input.starts_with("\xff\xfe") || input.starts_with("\xfe\xff")) {
    malformed_json(input, 0, what, "a byte order mark of UTF-16; save it as UTF-8");
  }
}

}  // namespace

void malformed_json(std::string_view input, std::size_t offset, const std::string& what,
                    const std::string& why) {
  const std::string_view before = input.substr(0, std::min(offset, input.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  std::string reason = why;  // RapidJSON's sentences, in the form of Kiln's messages
  if (!reason.empty() && reason.back() == '.') reason.pop_back();
  if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(reason[0]));
  throw IoError("", "",
                text(what, " is malformed at line ", line, ", column ", column, ": ", reason));
}

JsonDocument parse_json(std::string_view input, const std::string& what) {
  require_no_mark(input, what);
  require_shallow(input, what);
  JsonDocument document;
  auto parse = [&](JsonDocument& values) {
    parse_json_events(input, what, values);
    return true;
  };
  document.Populate(parse);
  return document;
}

const char* json_kind(const JsonValue& value) {
  if (value.IsObject()) return "an object";
  if (value.IsArray()) return "an array";
  if (value.IsString()) return "a string";
  if (value.IsNumber()) return "a number";
  if (value.IsBool()) return "a boolean";
  return "null";
}

}  // namespace kiln::runtime
