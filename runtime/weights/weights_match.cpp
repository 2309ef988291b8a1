// Pairs by name, then compares shapes and dtypes and lists the rest. near_name.cpp suggests names.
#include "runtime/weights/weights_match.h"

#include "core/k/base/call.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"

#include <kiln/error.h>

#include <algorithm>
#include <unordered_map>

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxRows = 20, kBefore = 4;

std::string shape_text(const WeightSlot& slot) {
  const std::string_view dtype =
      slot.other_dtype.empty() ? dtype_name(slot.dtype) : slot.other_dtype;
  return text(dtype, " [", join_text(slot.dims, ","), "]");
}

/// Returns the axes that permute `from` to `to`; empty if there are none.
std::vector<std::int64_t> permutation(const std::vector<std::int64_t>& from,
                                      const std::vector<std::int64_t>& to) {
  std::vector<std::int64_t> axes;
  std::vector<bool> used(from.size());
  for (const std::int64_t dim : to) {
    std::size_t axis = 0;
    while (axis < from.size() && (used[axis] || from[axis] != dim)) ++axis;
    if (axis == from.size()) return {};
    used[axis] = true;
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  return axes.size() == from.size() ? axes : std::vector<std::int64_t>{};
}

/// A table of mismatches with aligned columns.
class Table {
 public:
  void add(std::vector<std::string> row) {
    if (problems_++ == 0) first_problem_ = rows_.size();
    rows_.push_back(std::move(row));
  }
  /// Adds a row that is no mismatch.
  void add_fitting(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::size_t size() const { return rows_.size(); }
  std::size_t problems() const { return problems_; }

  std::string show() const {
    std::string result = line({"name", "file", "variable", "problem"});
    if (begin() > 0) result += text("\n  ", begin(), " that fit");
    for (std::size_t i = begin(); i < end(); ++i) result += line(rows_[i]);
    if (end() < rows_.size()) result += text("\n  and ", rows_.size() - end(), " more");
    return result;
  }

 private:
  // The rows that are shown: from the first on, or from a few before the first mismatch.
  std::size_t begin() const { return first_problem_ < kMaxRows ? 0 : first_problem_ - kBefore; }
  std::size_t end() const { return std::min(rows_.size(), begin() + kMaxRows); }

  std::size_t width(std::size_t column) const {
    std::size_t widest = 8;  // the longest title, "variable"
    for (std::size_t i = begin(); i < end(); ++i) {
      widest = std::max(widest, rows_[i][column].size());
    }
    return widest;
  }

  std::string line(const std::vector<std::string>& words) const {
    std::string result = "\n  ";
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      result += words[i];
      if (width(i) > words[i].size()) result.append(width(i) - words[i].size(), ' ');
      result += "  ";
    }
    return result + words.back();
  }

  std::vector<std::vector<std::string>> rows_;
  std::size_t problems_ = 0, first_problem_ = 0;
};

class Matcher {
 public:
  Matcher(std::span<const WeightSlot> tensors, std::span<const WeightSlot> variables,
          WeightMatchRules rules)
      : tensors_(tensors), variables_(variables), rules_(rules) {
    for (std::size_t i = 0; i < tensors.size(); ++i) by_name_.emplace(tensors[i].name, i);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (const std::string& name : tensors[i].other_names) by_name_.emplace(name, i);
    }
  }

  /// Finds the pairs.
  WeightMatch match() const { return rules_.by_order ? match_by_order() : match_by_name(); }

  /// Returns `match` without the pairs that skip_mismatch leaves out.
  WeightMatch without_skipped(const WeightMatch& match) const {
    WeightMatch kept = match;
    std::erase_if(kept.pairs, [&](const WeightPair& pair) {
      if (!is_skipped(pair)) return false;
      kept.missing_variables.push_back(pair.variable);
      kept.unused_tensors.push_back(pair.tensor);
      return true;
    });
    std::sort(kept.missing_variables.begin(), kept.missing_variables.end());
    std::sort(kept.unused_tensors.begin(), kept.unused_tensors.end());
    return kept;
  }

  Table mismatches(const WeightMatch& match) const {
    Table table;
    const bool loads_none = std::all_of(match.pairs.begin(), match.pairs.end(),
                                        [&](const WeightPair& pair) { return is_skipped(pair); });
    const bool matches_none = loads_none && !variables_.empty();
    for (const WeightPair& pair : match.pairs) {
      if (matches_none || !is_skipped(pair)) compare(pair, table);
    }
    if (!rules_.strict && !matches_none) return table;
    std::vector<std::string> left, absent;
    for (const std::size_t i : match.unused_tensors) left.push_back(tensors_[i].name);
    for (const std::size_t i : match.missing_variables) {
      absent.push_back(variables_[i].name);
      const std::string hint = hint_for(variables_[i].name, left, table);
      table.add({quoted_name(variables_[i].name), "-", shape_text(variables_[i]),
                 "not in the file" + hint});
    }
    for (const std::size_t i : match.unused_tensors) {
      const std::string hint = hint_for(tensors_[i].name, absent, table);
      table.add(
          {quoted_name(tensors_[i].name), shape_text(tensors_[i]), "-", "no variable" + hint});
    }
    return table;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  WeightMatch match_by_order() const {
    WeightMatch result;
    const std::size_t count = std::min(tensors_.size(), variables_.size());
    for (std::size_t i = 0; i < count; ++i) result.pairs.push_back({i, i});
    for (std::size_t i = count; i < variables_.size(); ++i) result.missing_variables.push_back(i);
    for (std::size_t i = count; i < tensors_.size(); ++i) result.unused_tensors.push_back(i);
    return result;
  }

  WeightMatch match_by_name() const {
    WeightMatch result;
    std::vector<bool> matched(tensors_.size());
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const std::size_t found = tensor_of(variables_[i]);
      if (found == kNone || matched[found]) {
        result.missing_variables.push_back(i);
        continue;
      }
      matched[found] = true;
      result.pairs.push_back({found, i});
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!matched[i]) result.unused_tensors.push_back(i);
    }
    return result;
  }

  /// The index of the tensor with a name of the variable; kNone if there is none.
  std::size_t tensor_of(const WeightSlot& variable) const {
    const auto found = by_name_.find(variable.name);
    if (found != by_name_.end()) return found->second;
    for (const std::string& name : variable.other_names) {
      const auto other = by_name_.find(name);
      if (other != by_name_.end()) return other->second;
    }
    return kNone;
  }

  bool is_skipped(const WeightPair& pair) const {
    return rules_.skip_mismatch && tensors_[pair.tensor].dims != variables_[pair.variable].dims;
  }

  std::string hint_for(const std::string& name, std::span<const std::string> names,
                       const Table& table) const {
    if (rules_.by_order || table.size() >= kMaxRows) return "";  // or the row will not be shown
    const std::string nearest = near_name(name, names);
    return nearest.empty() ? "" : text("; did you mean ", quoted_name(nearest), "?");
  }

  void compare(const WeightPair& pair, Table& table) const {
    const WeightSlot& tensor = tensors_[pair.tensor];
    const WeightSlot& variable = variables_[pair.variable];
    const std::string name =
        tensor.name == variable.name && !rules_.by_order
            ? quoted_name(tensor.name)
            : text(quoted_name(tensor.name), " for ", quoted_name(variable.name));
    const auto mismatch = [&](const std::string& problem) {
      table.add({name, shape_text(tensor), shape_text(variable), problem});
    };
    if (tensor.dims != variable.dims) {
      const std::vector<std::int64_t> axes = permutation(tensor.dims, variable.dims);
      if (axes.empty()) {
        if (rules_.skip_mismatch) return mismatch("other shape");
        return mismatch("other shape; load_weights with skip_mismatch = true skips it");
      }
      return mismatch(text("other shape; fits if transposed by [", join_text(axes, ","), "]"));
    }
    if (!tensor.other_dtype.empty()) return mismatch("a dtype that Kiln does not have");
    if (rules_.strict && tensor.dtype != variable.dtype) {
      return mismatch("other dtype; strict = false casts");
    }
    if (rules_.by_order) {
      table.add_fitting({name, shape_text(tensor), shape_text(variable), "fits"});
    }
  }

  std::span<const WeightSlot> tensors_, variables_;
  WeightMatchRules rules_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace

WeightMatch match_weights(std::span<const WeightSlot> tensors,
                          std::span<const WeightSlot> variables, WeightMatchRules rules,
                          const std::string& path, Where where) {
  const Matcher matcher(tensors, variables, rules);
  const WeightMatch match = matcher.match();
  const Table mismatches = matcher.mismatches(match);
  if (mismatches.problems() == 0) return matcher.without_skipped(match);
  const std::string running = Call::function();
  throw ValueError(running.empty() ? "load_weights" : running, "path",
                   text("the ", counted(tensors.size(), "tensor"), " of ", path, " and the ",
                        counted(variables.size(), "variable"), " differ in ",
                        counted(mismatches.problems(), "name"), mismatches.show()),
                   where);
}

}  // namespace kiln::runtime
