// Where in the user's program a node was made, and the origin that this thread's nodes get.
#pragma once

#include <kiln/where.h>

namespace kiln::ir {

/// Where and by which K function a node was made.
struct Origin {
  Where where;
  const char* function = "";  // static storage
};
bool same_origin(const Origin& a, const Origin& b);

/// While it lives, nodes made on this thread have this origin, and errors name it. The outermost
/// scope wins: K functions that call each other report the one that the user called.
class OriginScope {
 public:
  explicit OriginScope(Origin origin, bool replace = false);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Origin saved_;
};
/// The current origin of this thread; unknown outside any scope.
Origin current_origin();

}  // namespace kiln::ir
