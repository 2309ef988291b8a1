# Hosts that are programs of their own: build/bin/host_<name>, linked to the shared library.
function(kiln_add_host name)
  add_executable(host_${name} ${CMAKE_CURRENT_SOURCE_DIR}/hosts/programs/${name}.cpp
    $<TARGET_OBJECTS:kiln_test_environment>)
  target_link_libraries(host_${name} PRIVATE kiln::kiln kiln_flags ${ARGN})
  add_dependencies(host_${name} kiln_cpu kiln_reference)
endfunction()

# kiln_test_host(test program [argument...])
function(kiln_test_host test program)
  add_test(NAME hosts/${test} COMMAND host_${program} ${ARGN})
  set_tests_properties(hosts/${test} PROPERTIES LABELS fast TIMEOUT 300)
endfunction()

kiln_add_host(fork_first)
kiln_test_host(fork-first fork_first)
kiln_add_host(ending)
foreach(way static handler threads)
  kiln_test_host(ending-${way} ending ${way})
endforeach()

if(NOT KILN_SANITIZE)  # sanitizers need more address space than there is
  kiln_add_host(little_memory)
  kiln_test_host(little-memory little_memory)
endif()

add_library(host_opened MODULE ${CMAKE_CURRENT_SOURCE_DIR}/hosts/programs/opened.cpp)
target_link_libraries(host_opened PRIVATE kiln::kiln kiln_flags)
set_target_properties(host_opened PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tests)
add_executable(host_opener ${CMAKE_CURRENT_SOURCE_DIR}/hosts/programs/opener.cpp
  $<TARGET_OBJECTS:kiln_test_environment>)
target_link_libraries(host_opener PRIVATE kiln_flags)
add_dependencies(host_opener host_opened kiln_cpu kiln_reference)
kiln_test_host(opened-and-closed opener $<TARGET_FILE:host_opened>)

find_package(OpenMP COMPONENTS CXX QUIET)
if(OpenMP_CXX_FOUND)
  kiln_add_host(openmp OpenMP::OpenMP_CXX)
  kiln_test_host(openmp openmp)
endif()

# An LLVM beside the backend's. Only C functions and one library are needed of it.
find_path(KILN_OTHER_LLVM_INCLUDE llvm-c/Core.h PATHS /usr/lib/llvm-14/include NO_DEFAULT_PATH)
find_library(KILN_OTHER_LLVM LLVM-14 PATHS /usr/lib/llvm-14/lib NO_DEFAULT_PATH)
if(KILN_OTHER_LLVM_INCLUDE AND KILN_OTHER_LLVM)
  kiln_add_host(llvm14 ${KILN_OTHER_LLVM})
  target_include_directories(host_llvm14 SYSTEM PRIVATE ${KILN_OTHER_LLVM_INCLUDE})
  kiln_test_host(llvm14 llvm14)
endif()
