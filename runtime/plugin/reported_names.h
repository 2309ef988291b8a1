// Collects the names that an entry of a plugin reports through a callback. Exceptions are stored,
// since they must not propagate through the plugin's stack frames.
#pragma once

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host/log.h"
#include "runtime/host/reported_text.h"

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct ReportedNames {
  std::string_view unit;  // "passes", for errors
  std::vector<std::string> names = {};
  std::exception_ptr thrown = nullptr;  // BrokenStruct for an invalid name or count

  /// The callback. `context`: the ReportedNames.
  static void take(void* context, kiln_string given) noexcept {
    if (context == nullptr) return log_line(LogLevel::Error, "backend", "names lost the context");
    auto& self = *static_cast<ReportedNames*>(context);
    try {
      self.add(given);
    } catch (...) {
      if (!self.thrown) self.thrown = std::current_exception();
    }
  }

 private:
  void add(kiln_string given) {
    constexpr std::size_t kMaxNames = 1024;
    if (names.size() == kMaxNames) {
      throw abi::BrokenStruct(text("named more than ", kMaxNames, " ", unit));
    }
    names.emplace_back(reported_text(given, text("a name of ", unit).c_str(), KILN_MAX_NAME));
  }
};

}  // namespace kiln::runtime
