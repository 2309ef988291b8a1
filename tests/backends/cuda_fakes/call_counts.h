// Counts the calls of each function of a library, and makes calls fail on demand.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::fake_cuda {

/// Counts calls by the function's name. One thread at a time.
class CallCounts {
 public:
  explicit CallCounts(std::initializer_list<const char*> names) {
    for (const char* name : names) counts_.emplace(name, 0);
  }

  /// Counts a call; returns the status of a call that is to fail, else none. REQUIRES: a name of
  /// the list.
  std::optional<int> count(std::string_view name) {
    const int call = ++counts_.find(name)->second;
    const auto found = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& one) {
      return one.name == name && (one.call == 0 || one.call == call);
    });
    if (found == failures_.end()) return std::nullopt;
    return found->status;
  }
  /// Makes the nth call from now on (0: every call) fail. False for an unknown name.
  bool fail(std::string_view name, int nth, int status) {
    const int before = count_of(name);
    if (before < 0) return false;
    failures_.push_back({std::string(name), nth == 0 ? 0 : before + nth, status});
    return true;
  }
  void forget_failures() { failures_.clear(); }
  /// -1 for an unknown name.
  int count_of(std::string_view name) const {
    const auto found = counts_.find(name);
    return found == counts_.end() ? -1 : found->second;
  }

 private:
  struct Failure {
    std::string name;
    int call;  // 0: every call
    int status;
  };

  std::map<std::string, int, std::less<>> counts_;
  std::vector<Failure> failures_;
};

}  // namespace kiln::fake_cuda
