# LLVM::LLVM: headers and the libraries of the COMPONENTS asked for, by the package's own files.
find_package(LLVM CONFIG QUIET PATHS /usr/lib/llvm-22/lib/cmake/llvm NO_DEFAULT_PATH)
if(NOT LLVM_FOUND)
  find_package(LLVM CONFIG QUIET)
endif()

set(found none)
set(LLVM_LIBRARIES "")
if(LLVM_FOUND)
  set(found ${LLVM_VERSION})
endif()
if(LLVM_FOUND AND LLVM_VERSION_MAJOR EQUAL 22)
  llvm_map_components_to_libnames(LLVM_LIBRARIES ${LLVM_FIND_COMPONENTS})
  # Libraries of other packages, which LLVM's files look for and do not require.
  get_target_property(others LLVMSupport INTERFACE_LINK_LIBRARIES)
  foreach(other IN LISTS others)
    if(other MATCHES "^[A-Za-z0-9_]+::" AND NOT TARGET ${other})
      set(LLVM_LIBRARIES "")
      string(APPEND found ", without ${other}")
    endif()
  endforeach()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LLVM REQUIRED_VARS LLVM_DIR LLVM_LIBRARIES VERSION_VAR LLVM_VERSION
  REASON_FAILURE_MESSAGE "LLVM 22 is needed (found: ${found}). Install the Debian packages
      llvm-22-dev, libzstd-dev and zlib1g-dev, or set LLVM_DIR to the folder of another
      LLVMConfig.cmake.")

if(LLVM_FOUND AND NOT TARGET LLVM::LLVM)
  add_library(LLVM::LLVM INTERFACE IMPORTED)
  target_include_directories(LLVM::LLVM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(LLVM::LLVM INTERFACE ${LLVM_LIBRARIES})
endif()
