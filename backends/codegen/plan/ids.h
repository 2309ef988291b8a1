// Typed positions in the lists of a plan, so that a step's slot cannot stand for another number.
#pragma once

#include "core/types/id.h"

#include <ostream>

namespace kiln::codegen {

struct Slot;
using SlotId = Id<Slot>;

/// "%3", as dumps name the slot.
inline std::ostream& operator<<(std::ostream& out, SlotId slot) {
  return out << '%' << slot.number;
}

}  // namespace kiln::codegen
