// Draws what repeats once: layers of equal structure, and equal updates of many variables.
#pragma once

#include "core/picture/picture.h"

namespace kiln::picture {

/// Replaces scopes of one parent whose names differ in numbers only ("layer_0", "layer_11") and
/// whose boxes, arrows between them, and types are equal, by the first of them. Arrows from and to
/// the others end at its boxes.
void fold_scopes(Picture& picture);

/// Replaces boxes in `group` that cannot be told apart, by their structures and by the boxes of the
/// group around them, by the first of them. Types may differ.
void fold_boxes(Picture& picture, int group);

}  // namespace kiln::picture
