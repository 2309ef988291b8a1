# ZLIB::ZLIB, by CMake's own module. LLVM's configuration finds this module, too.
set(is_required ${ZLIB_FIND_REQUIRED})
set(ZLIB_FIND_REQUIRED FALSE)
include(${CMAKE_ROOT}/Modules/FindZLIB.cmake)
set(ZLIB_FIND_REQUIRED ${is_required})
unset(is_required)
if(ZLIB_FIND_REQUIRED AND NOT ZLIB_FOUND)
  message(FATAL_ERROR "Could NOT find ZLIB: install the Debian package zlib1g-dev, or set ZLIB_ROOT "
    "to the folder that holds include/zlib.h and lib/libz.so")
endif()
