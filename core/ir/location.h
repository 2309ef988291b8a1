// The user's line of a node, in texts.
#pragma once

#include "core/ir/origin.h"

#include <string>

namespace kiln::ir {

/// "train.cpp:12"; empty if the line is not known, here and below.
std::string location_of(const Origin& origin);
/// " (train.cpp:12)".
std::string location_suffix(const Origin& origin);

}  // namespace kiln::ir
