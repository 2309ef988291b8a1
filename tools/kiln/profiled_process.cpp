// The program appends to a file in a temporary folder.
#include "tools/kiln/profiled_process.h"

#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/profile/profile_json.h"
#include "tools/kiln/child_process.h"
#include "tools/kiln/temporary_folder.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>

namespace kiln::tool {

std::vector<Profile> read_profiles(const std::string& path) {
  const runtime::InputFile file(path);
  std::string contents(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(contents)));
  std::vector<Profile> profiles;
  std::string_view left = contents;
  for (int line = 1; !left.empty(); ++line) {
    const std::size_t end = left.find('\n');
    if (end == left.npos) {  // a process that was killed, or a full disk, cut it
      std::cerr << "kiln profile: " << path << ", line " << line << " is incomplete: left out\n";
      break;
    }
    profiles.push_back(
        runtime::parse_profile_json(left.substr(0, end), text(path, ", line ", line)));
    left.remove_prefix(end + 1);
  }
  std::stable_sort(profiles.begin(), profiles.end(),
                   [](const Profile& a, const Profile& b) { return a.seconds > b.seconds; });
  return profiles;
}

ProfiledProcess run_profiled(const std::vector<std::string>& words) {
  const TemporaryFolder folder("kiln profile");
  const std::string path = folder.path_of("profiles.jsonl");
  pid_t child = 0;
  const int error = start_child(
      {.words = words, .variables = variables_with("KILN_PROFILE=" + path, "KILN_PROFILE=")},
      child);
  if (error != 0) {
    throw IoError("kiln profile", "", text("cannot run ", words[0], ": ", std::strerror(error)));
  }
  const int status = wait_for_status(child);
  const bool has_profiles = std::filesystem::exists(path);
  return {status, has_profiles ? read_profiles(path) : std::vector<Profile>()};
}

}  // namespace kiln::tool
