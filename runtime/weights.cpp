#include <kiln/weights.h>

#include "core/kiln/tensor_impl.h"
#include "runtime/safetensors.h"
#include "runtime/variable_state.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <numeric>
#include <sstream>

namespace kiln {
namespace {

using runtime::NamedArray;

std::string name_of(const Tensor& variable) {
  const ir::Value value = value_of(variable, "variables");
  if (value.node->op != ir::Op::Variable) {
    Call::type_error("variables", text("not a variable (", variable, ")"));
  }
  const std::string& name = value.node->as<ir::VariableAttrs>().name;
  if (name.empty()) Call::value_error("variables", text("a variable has no name (", variable, ")"));
  return name;
}

std::vector<std::string> names_of(const std::vector<Tensor>& variables) {
  std::vector<std::string> names;
  for (const Tensor& variable : variables) {
    names.push_back(name_of(variable));
    if (std::count(names.begin(), names.end(), names.back()) > 1) {
      Call::value_error("variables", text("two variables are named '", names.back(), "'"));
    }
  }
  return names;
}

/// Levenshtein's distance.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t distance = std::max<std::size_t>(3, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = edit_distance(name, candidate);
    if (d >= distance) continue;
    distance = d;
    best = candidate;
  }
  return best;
}

std::string shape_text(DType dtype, const std::vector<std::int64_t>& dims) {
  return text(dtype, "[", join_text(dims, ","), "]");
}

bool is_transposed(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  std::reverse(a.begin(), a.end());
  return a.size() > 1 && a == b;
}

/// The table of an error message; rows are added as mismatches are found.
class Table {
 public:
  void row(const std::string& name, const std::string& in_file, const std::string& variable,
           const std::string& remark) {
    out_ << "\n  " << std::left << std::setw(24) << name << " " << std::setw(20) << in_file << " "
         << std::setw(20) << variable << " " << remark;
    ++rows_;
  }
  bool empty() const { return rows_ == 0; }
  std::string text() const {
    std::ostringstream head;
    head << "\n  " << std::left << std::setw(24) << "name" << " " << std::setw(20) << "in the file"
         << " " << std::setw(20) << "variable" << " remark";
    return head.str() + out_.str();
  }

 private:
  std::ostringstream out_;
  int rows_ = 0;
};

std::string with_hint(const std::string& fact, const std::string& near) {
  return near.empty() ? fact : text(fact, "; did you mean '", near, "'?");
}

}  // namespace

void save_weights(const std::string& path, const std::vector<Tensor>& variables, Where where) {
  const Call call("save_weights", where);
  const std::vector<std::string> names = names_of(variables);
  const std::vector<Array> values = batch_get_value(variables, where);
  std::vector<NamedArray> arrays;
  for (std::size_t i = 0; i < names.size(); ++i) arrays.push_back({names[i], values[i]});
  runtime::write_safetensors(path, arrays);
}

void load_weights(const std::string& path, const std::vector<Tensor>& variables,
                  const LoadWeightsOptions& options) {
  const Call call("load_weights", options.where);
  const std::vector<std::string> names = names_of(variables);
  std::map<std::string, Array> entries;
  std::vector<std::string> in_file;
  for (NamedArray& array : runtime::read_safetensors(path)) {
    in_file.push_back(array.name);
    entries.emplace(array.name, std::move(array.value));
  }
  Table mismatches;
  std::vector<std::pair<Tensor, Array>> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<std::int64_t> dims = get_variable_shape(variables[i], options.where);
    const std::string own = shape_text(value_of(variables[i], "variables").dtype(), dims);
    const auto entry = entries.find(names[i]);
    if (entry == entries.end()) {
      if (options.strict) {
        mismatches.row(names[i], "-", own,
                       with_hint("not in the file", nearest(names[i], in_file)));
      }
      continue;
    }
    const Array& value = entry->second;
    if (value.dims() != dims) {
      const char* remark = is_transposed(value.dims(), dims) ? "transposed?" : "other shape";
      mismatches.row(names[i], shape_text(value.dtype(), value.dims()), own, remark);
      continue;
    }
    found.emplace_back(variables[i], value);
  }
  for (const std::string& name : in_file) {
    if (!options.strict || std::count(names.begin(), names.end(), name) != 0) continue;
    const Array& value = entries.at(name);
    mismatches.row(name, shape_text(value.dtype(), value.dims()), "-",
                   with_hint("no such variable", nearest(name, names)));
  }
  if (!mismatches.empty()) {
    Call::value_error("variables", text(path, " does not match the variables:", mismatches.text()));
  }
  batch_set_value(found, options.where);
}

}  // namespace kiln
