// Prints from the definitions of the ops, so that page and header are compared with them.
#include "tools/kiln/op_codes.h"

#include "core/types/text.h"
#include "tools/kiln/op_fields.h"

#include <algorithm>
#include <map>
#include <ostream>

namespace kiln::tool {
namespace {

constexpr std::size_t kColumns = 96;  // in a page they are indented by 4

std::vector<const ir::OpDef*> ops_by_code() {
  std::vector<const ir::OpDef*> ops;
  for (const ir::OpDef& d : ir::all_ops()) ops.push_back(&d);
  std::sort(ops.begin(), ops.end(), [](auto* a, auto* b) { return a->code < b->code; });
  return ops;
}

/// The items, separated by ", ", in lines of at most kColumns: the first with the indent, the
/// others with the hanging one.
std::string wrapped(std::string_view indent, std::string_view hanging,
                    const std::vector<std::string>& items) {
  std::string out, line(indent);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    const bool fits = line.size() + 1 + item.size() <= kColumns;
    if (!fits) {
      out += line + "\n";
      line = hanging;
    }
    line += (i == 0 || !fits ? "" : " ") + item;
  }
  return out + line + "\n";
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string kind_name(FieldKind kind) {
  return "KILN_FIELD_" + upper(kFieldKinds[static_cast<std::size_t>(kind)]);
}

std::string op_row(const ir::OpDef& d) {
  std::vector<std::string> items;
  for (const OpField& field : fields_of(d)) {
    items.push_back(text("{\"", field.name, "\", ", kind_name(field.kind), "}"));
  }
  if (items.empty()) items.push_back(text("{NULL, ", kind_name(FieldKind::Integer), "}"));
  items.front() = text("{", d.code, ", \"", d.name, "\", {", items.front());
  items.back() += "}},";
  return wrapped("  ", "    ", items);
}

std::size_t max_fields() {
  std::size_t most = 0;
  for (const ir::OpDef& d : ir::all_ops()) most = std::max(most, fields_of(d).size());
  return most;
}

constexpr std::string_view kHeaderStart =
    R"(/* The codes of the ops, and the fields of their attributes in the order of their bytes, in
 * the module format. Written by `kiln ops --header`. */
#ifndef KILN_MODULE_OPS_H
#define KILN_MODULE_OPS_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */

)";
constexpr std::string_view kHeaderEnd = R"(};

/* clang-format on */

#endif /* KILN_MODULE_OPS_H */
)";

void print_enum(std::ostream& out, const std::vector<std::string>& enumerators) {
  out << "enum {\n" << wrapped("  ", "  ", enumerators) << "};\n";
}

/// The codes of the ops, and the numbers of attributes that are enumerations.
void print_enumerators(std::ostream& out) {
  std::vector<std::string> codes;
  for (const ir::OpDef* d : ops_by_code()) {
    codes.push_back(text("KILN_OP_", upper(d->name), " = ", d->code));
  }
  print_enum(out, codes);
  for (const ir::OpDef* d : ops_by_code()) {
    for (const OpField& field : fields_of(*d)) {
      std::vector<std::string> numbers;
      for (const std::string& enumerator : field.enumerators) {
        numbers.push_back(text("KILN_", upper(d->name), "_", upper(field.name), "_",
                               upper(enumerator), " = ", numbers.size()));
      }
      if (!numbers.empty()) print_enum(out, numbers);
    }
  }
}

void print_types(std::ostream& out) {
  std::vector<std::string> kinds;
  for (const std::string_view kind : kFieldKinds) kinds.push_back("KILN_FIELD_" + upper(kind));
  out << R"(
/* How a field is encoded; from KILN_FIELD_INTEGERS on, lists, which begin with their length. */
typedef enum kiln_field_kind {
)" << wrapped("  ", "  ", kinds)
      << R"(} kiln_field_kind;

typedef struct kiln_field {
  const char* name; /* null after the last field */
  kiln_field_kind kind;
} kiln_field;

typedef struct kiln_op_format {
  uint64_t code;
  const char* name;
  kiln_field fields[)"
      << max_fields() + 1 << R"(];
} kiln_op_format;

static const kiln_op_format kiln_op_formats[] = {
)";
}

}  // namespace

void print_op_codes(std::ostream& out) {
  std::vector<std::string> lists;  // of fields, in the order of the first codes
  std::map<std::string, std::vector<std::string>> ops_with;
  for (const ir::OpDef* d : ops_by_code()) {
    std::vector<std::string> items;
    for (const OpField& field : fields_of(*d)) items.push_back(description_of(field));
    const std::string list = items.empty() ? "no attributes\n" : wrapped("", "  ", items);
    std::vector<std::string>& ops = ops_with[list];
    if (ops.empty()) lists.push_back(list);
    ops.push_back(text(d->name, " ", d->code));
  }
  for (const std::string& list : lists) out << list << wrapped("    ", "    ", ops_with[list]);
}

void print_op_header(std::ostream& out) {
  out << kHeaderStart;
  print_enumerators(out);
  print_types(out);
  for (const ir::OpDef* d : ops_by_code()) out << op_row(*d);
  out << kHeaderEnd;
}

}  // namespace kiln::tool
