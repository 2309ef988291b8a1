# Finds what the chosen parts of Kiln need, and nothing else. Included by the root, so that every
# folder sees the imported targets.
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})

find_package(Threads REQUIRED)
find_package(RapidJSON REQUIRED)
find_package(ZLIB REQUIRED)
find_package(protozero REQUIRED)
# Optional: a build without HDF5 reads every other format.
if(KILN_HDF5)
  find_package(HDF5 QUIET)
  if(NOT HDF5_FOUND)
    message(STATUS "HDF5 files are not read: install the Debian package libhdf5-dev, or set "
      "HDF5_INCLUDE_DIR and HDF5_LIBRARY")
  endif()
endif()
if("reference" IN_LIST KILN_BACKENDS OR KILN_BUILD_TESTS)
  find_package(Random123 REQUIRED)
endif()
if("cpu" IN_LIST KILN_BACKENDS)
  find_package(LLVM REQUIRED COMPONENTS core orcjit x86codegen x86asmparser passes)
  find_package(oneDNN REQUIRED)
endif()
if(KILN_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(KILN_BUILD_TESTS)
  find_package(Catch2 REQUIRED)
endif()
