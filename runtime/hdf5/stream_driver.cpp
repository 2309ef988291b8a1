// Reads beyond the end of a file that is read are errors. In one that is written, bytes that were
// not written are zeros.
#include "runtime/hdf5/stream_driver.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace kiln::hdf5 {
namespace {

constexpr haddr_t kMaxAddress = std::numeric_limits<std::int64_t>::max();

/// HDF5 uses the first member, and this driver the whole.
struct OpenStream {
  H5FD_t base{};
  StreamState* state = nullptr;
  haddr_t allocated = 0, end = 0;
};

OpenStream& of(H5FD_t* file) { return *reinterpret_cast<OpenStream*>(file); }
const OpenStream& of(const H5FD_t* file) { return *reinterpret_cast<const OpenStream*>(file); }

H5FD_t* open_file(const char*, unsigned, hid_t properties, haddr_t) {
  const auto* const info = static_cast<StreamState* const*>(H5Pget_driver_info(properties));
  if (info == nullptr) return nullptr;
  auto* const file = new (std::nothrow) OpenStream;
  if (file == nullptr) return nullptr;
  file->state = *info;
  file->end = file->state->stream->bytes;
  return &file->base;
}

herr_t close_file(H5FD_t* file) {
  delete &of(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) { return of(file).allocated; }

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file).allocated = address;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file).end; }

herr_t read(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  OpenStream& file = of(base);
  const haddr_t held = address > file.end ? 0 : std::min<haddr_t>(size, file.end - address);
  if (held < size) {
    if (!file.state->is_written) return -1;
    std::memset(static_cast<char*>(buffer) + held, 0, size - held);
  }
  if (held == 0) return 0;
  const kiln_hdf5_stream& stream = *file.state->stream;
  if (stream.read(stream.context, address, buffer, held)) return 0;
  file.state->has_failed = true;
  return -1;
}

herr_t write(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
             const void* buffer) {
  OpenStream& file = of(base);
  if (address > kMaxAddress || size > kMaxAddress - address) return -1;
  file.end = std::max<haddr_t>(file.end, address + size);
  if (file.state->has_failed) return 0;
  const kiln_hdf5_stream& stream = *file.state->stream;
  file.state->has_failed = !stream.write(stream.context, address, buffer, size);
  return 0;
}

/// Extends a written file to the bytes that HDF5 has allocated, whose last ones it may not write.
herr_t extend(H5FD_t* base, hid_t properties, hbool_t) {
  const OpenStream& file = of(base);
  if (!file.state->is_written || file.end >= file.allocated) return 0;
  const char zero = 0;
  return write(base, H5FD_MEM_DEFAULT, properties, file.allocated - 1, 1, &zero);
}

hid_t register_driver() {
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(300);  // of 256 to 511, for tests and private use
#endif
  driver.name = "kiln stream";
  driver.maxaddr = kMaxAddress;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(StreamState*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = end_of_file;
  driver.read = read;
  driver.write = write;
  driver.truncate = extend;
  for (int type = 0; type < H5FD_MEM_NTYPES; ++type) driver.fl_map[type] = H5FD_MEM_DEFAULT;
  return checked(H5FDregister(&driver));
}

}  // namespace

hid_t open_stream(StreamState& state) {
  const Handle driver(register_driver(), H5FDunregister);
  const Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const StreamState* const info = &state;
  checked(H5Pset_driver(properties, driver, &info));
  checked(H5Pset_fclose_degree(properties, H5F_CLOSE_STRONG));
  if (!state.is_written) return checked(H5Fopen("file", H5F_ACC_RDONLY, properties));
  return checked(H5Fcreate("file", H5F_ACC_TRUNC, H5P_DEFAULT, properties));
}

}  // namespace kiln::hdf5
