// Moves boxes that several scopes share out of the first of them.
#pragma once

#include "core/picture/picture.h"

namespace kiln::picture {

/// Moves each box that depends on no input, out of scopes alone, into the innermost group around
/// all boxes that read it: equal nodes are one, so that the causal mask of all layers has the scope
/// of the first one, which would differ from the others.
void hoist_shared(Picture& picture);

}  // namespace kiln::picture
