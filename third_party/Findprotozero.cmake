# protozero::protozero: headers.
find_path(protozero_INCLUDE_DIR protozero/pbf_reader.hpp)
mark_as_advanced(protozero_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(protozero REQUIRED_VARS protozero_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install the Debian package libprotozero-dev, or set
      protozero_INCLUDE_DIR to the folder that holds protozero/pbf_reader.hpp.")

if(protozero_FOUND AND NOT TARGET protozero::protozero)
  add_library(protozero::protozero INTERFACE IMPORTED)
  target_include_directories(protozero::protozero SYSTEM INTERFACE ${protozero_INCLUDE_DIR})
endif()
