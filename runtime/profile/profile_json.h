// Profiles as JSON: one object, on one line.
#pragma once

#include <kiln/profile.h>

#include <string>
#include <string_view>

namespace kiln::runtime {

/// With the names of Profile's members. Ends in a newline.
std::string profile_json(const Profile& profile);
/// Reads what profile_json() writes. `what`: names the text in errors. IoError.
Profile parse_profile_json(std::string_view json, const std::string& what);

}  // namespace kiln::runtime
