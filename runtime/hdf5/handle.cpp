// Errors are taken from HDF5's stack, whose first entry is the innermost call.
#include "runtime/hdf5/handle.h"

#include <new>

namespace kiln::hdf5 {
namespace {

struct Innermost {
  bool is_first = true, is_memory = false;
  std::string description;
};

herr_t visit(unsigned, const H5E_error2_t* error, void* context) {
  auto& innermost = *static_cast<Innermost*>(context);
  innermost.is_memory |= error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC;
  if (!std::exchange(innermost.is_first, false) || error->desc == nullptr) return 0;
  try {
    innermost.description = error->desc;
  } catch (...) {
    innermost.is_memory = true;
  }
  return 0;
}

/// A newer HDF5 may write versions of messages that this one does not know.
std::string cause_of(const std::string& description) {
  if (description.find("version") == description.npos) return "is damaged: ";
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return "is damaged, or written by a newer HDF5 than " + std::to_string(major) + "." +
         std::to_string(minor) + "." + std::to_string(release) + ", which reads it here: ";
}

}  // namespace

void fail() {
  Innermost innermost;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, visit, &innermost);
  if (innermost.is_memory) throw std::bad_alloc();
  if (innermost.description.empty()) innermost.description = "HDF5 gives no reason";
  throw Rejection(cause_of(innermost.description) + innermost.description);
}

ScopedSettings::ScopedSettings() {
  H5open();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_context_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLget_loading_state(&plugins_);
  H5PLset_loading_state(0);
}

ScopedSettings::~ScopedSettings() {
  H5PLset_loading_state(plugins_);
  H5Eset_auto2(H5E_DEFAULT, print_, print_context_);
}

}  // namespace kiln::hdf5
