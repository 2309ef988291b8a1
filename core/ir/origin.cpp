// Compares origins, and keeps the current one of each thread.
#include "core/ir/origin.h"

#include <cstring>
#include <utility>

namespace kiln::ir {
namespace {

thread_local Origin t_origin;

}  // namespace

bool same_origin(const Origin& a, const Origin& b) {
  return a.where.line == b.where.line && std::strcmp(a.where.file, b.where.file) == 0 &&
         std::strcmp(a.function, b.function) == 0;
}

OriginScope::OriginScope(Origin origin, bool replace) : saved_(t_origin) {
  if (!replace && *saved_.function != '\0') return;
  if (!replace) origin.scope = saved_.scope;
  t_origin = origin;
}

OriginScope::~OriginScope() { t_origin = saved_; }

Origin current_origin() { return t_origin; }

Origin exchange_current_origin(Origin origin) { return std::exchange(t_origin, origin); }

}  // namespace kiln::ir
