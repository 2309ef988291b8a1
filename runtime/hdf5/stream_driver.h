// A file driver of HDF5 over the functions of a kiln_hdf5_stream: HDF5 opens no file itself.
#pragma once

#include "runtime/hdf5/handle.h"
#include "runtime/hdf5/hdf5_interface.h"

namespace kiln::hdf5 {

/// A stream and its state.
struct StreamState {
  const kiln_hdf5_stream* stream = nullptr;
  bool is_written = false;  // else it is read
  /// A function of the stream failed. HDF5 is not told of failing writes, as a file that it cannot
  /// write can never be closed: it drops them from then on.
  bool has_failed = false;
};

/// Opens or creates a file over the stream. REQUIRES: `state` outlives the file.
hid_t open_stream(StreamState& state);

}  // namespace kiln::hdf5
