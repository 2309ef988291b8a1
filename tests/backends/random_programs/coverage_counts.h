// Counts how often each rule, pass or library call fires in random programs and in templates.
#pragma once

#include "tests/support/catch.h"

#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::testing {

enum class Origin { Drawn, Template };

/// Counts events by kind and name, those of random programs apart from those of templates.
class Counts {
 public:
  void add(const std::string& kind, std::string_view name, Origin origin) {
    Count& count = counts_[{kind, std::string(name)}];
    ++(origin == Origin::Drawn ? count.drawn : count.in_templates);
  }
  /// Prints the count. Fails the test when it is 0 and `required`.
  void report(const std::string& kind, std::string_view name, bool required = true) {
    const Count count = counts_[{kind, std::string(name)}];
    std::cout << "  " << kind << " " << name << ": " << count.drawn << " in random programs, "
              << count.in_templates << " in templates" << (required ? "\n" : " (not required)\n");
    INFO(kind << " " << name << " never fires");
    if (required) CHECK(count.drawn + count.in_templates > 0);
  }

 private:
  struct Count {
    int drawn = 0, in_templates = 0;
  };
  std::map<std::pair<std::string, std::string>, Count> counts_;
};

}  // namespace kiln::testing
