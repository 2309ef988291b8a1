// Shortens the paths of source files in texts about a module: each row names many.
#pragma once

#include "core/module/module.h"

#include <string>
#include <utility>
#include <vector>

namespace kiln::module {

/// The paths of the files whose lines the nodes and name scopes of a module have.
class SourcePaths {
 public:
  explicit SourcePaths(const Module& module);

  /// `listing` with the paths before line numbers shortened to the file's name, or to more of the
  /// end where files share that; comments at the head give whole paths:
  ///     # model.cpp: /home/me/model.cpp
  std::string shorten(const std::string& listing) const;

 private:
  struct File {
    std::string path, name;
  };
  std::vector<File> files_;  // whose path has folders
};

}  // namespace kiln::module
