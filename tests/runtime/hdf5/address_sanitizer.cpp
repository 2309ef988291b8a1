// Suppressions of AddressSanitizer in the tests of HDF5 files.
#ifdef __SANITIZE_ADDRESS__
/// HDF5 meets damage by copies that begin or end beyond its own buffers. Reads by
/// libkilnhdf5.so stay checked.
extern "C" const char* __asan_default_suppressions() { return "interceptor_via_lib:libhdf5\n"; }
#endif
