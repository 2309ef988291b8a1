# minizip::minizip: the static library, so that libkiln depends on zlib alone.
find_path(minizip_INCLUDE_DIR minizip/unzip.h)
find_library(minizip_LIBRARY libminizip.a)
mark_as_advanced(minizip_INCLUDE_DIR minizip_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(minizip REQUIRED_VARS minizip_LIBRARY minizip_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install the Debian package libminizip-dev, or set minizip_INCLUDE_DIR to
      the folder that holds minizip/unzip.h and minizip_LIBRARY to the file libminizip.a.")

if(minizip_FOUND AND NOT TARGET minizip::minizip)
  add_library(minizip::minizip STATIC IMPORTED)
  set_target_properties(minizip::minizip PROPERTIES IMPORTED_LOCATION ${minizip_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${minizip_INCLUDE_DIR} INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
endif()
