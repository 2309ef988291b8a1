// Prints which ONNX operators are imported.
#include "core/onnx/import/import.h"
#include "core/onnx/import/table.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

namespace kiln::tool {
namespace {

std::vector<const onnx::OperatorRow*> sorted_rows() {
  std::vector<const onnx::OperatorRow*> rows;
  for (const auto group : onnx::operator_groups()) {
    for (const onnx::OperatorRow& row : group) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  return rows;
}

/// One line an operator: its name, and the opset from which it is imported or why it is not.
void print_table() {
  std::size_t imported = 0;
  for (const onnx::OperatorRow* row : sorted_rows()) {
    std::cout << std::left << std::setw(28) << row->name;
    if (row->import) {
      ++imported;
      std::cout << "from opset " << std::max<std::int64_t>(row->since.first(), onnx::kOldestOpset);
    } else {
      std::cout << "not imported: " << row->reason;
    }
    std::cout << "\n";
  }
  std::cout << imported << " operators of the default domain are imported, opsets "
            << onnx::kOldestOpset << " to " << onnx::kNewestOpset << "\n";
}

}  // namespace

void add_onnx(CLI::App& app) {
  const auto table = std::make_shared<bool>(false);
  CLI::App* command =
      add_command(app, "onnx", "List the ONNX operators that are imported", "kiln onnx --table");
  command->add_flag("--table", *table, "list all operators, with the reasons of those that are not")
      ->required();
  command->callback([] { print_table(); });
}

}  // namespace kiln::tool
