# HDF5::HDF5: headers and the library of C, without those of parallel HDF5.
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5_LIBRARY NAMES hdf5_serial hdf5)
mark_as_advanced(HDF5_INCLUDE_DIR HDF5_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HDF5 REQUIRED_VARS HDF5_LIBRARY HDF5_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install the Debian package libhdf5-dev, or set HDF5_INCLUDE_DIR to the
      folder that holds hdf5.h and HDF5_LIBRARY to the library, or build without it: -DKILN_HDF5=OFF.")

if(HDF5_FOUND AND NOT TARGET HDF5::HDF5)
  add_library(HDF5::HDF5 INTERFACE IMPORTED)
  target_include_directories(HDF5::HDF5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIR})
  target_link_libraries(HDF5::HDF5 INTERFACE ${HDF5_LIBRARY})
endif()
