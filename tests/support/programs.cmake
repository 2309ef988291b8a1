# Makes a folder of tests a program, and its test cases tests of ctest.

# kiln_compile_quickly(target): sets the options of most test programs. UBSan checks the library,
# not the tests nor what they instantiate from its headers: they compile in three quarters of the
# time.
function(kiln_compile_quickly target)
  target_compile_options(${target} PRIVATE -O0)
  set_target_properties(${target} PROPERTIES KILN_WITHOUT_UBSAN ON)
endfunction()

# test_folders.h defines KILN_SOURCE_DIR and KILN_BINARY_DIR. A header instead of definitions: sources
# without it compile alike in any folder, and those with it share unity groups with the others.
configure_file(${CMAKE_CURRENT_LIST_DIR}/test_folders.h.in
  ${PROJECT_BINARY_DIR}/written/test_folders.h)

# kiln_find_concurrent(result sources): sets `result` to the sources with tests tagged
# [concurrency], and `result`_needed to these and those without any test.
function(kiln_find_concurrent result sources)
  set(concurrent "")
  set(needed "")
  foreach(source IN LISTS sources)
    set(tests "")
    set(tags "")
    if(EXISTS ${source})  # else written by the build
      file(STRINGS ${source} tests REGEX "TEST_CASE")
      file(STRINGS ${source} tags REGEX "[^~]\\[concurrency\\]")  # not ~[concurrency]
    endif()
    if(tags)
      list(APPEND concurrent ${source})
    endif()
    if(tags OR NOT tests)
      list(APPEND needed ${source})
    endif()
  endforeach()
  set(${result} ${concurrent} PARENT_SCOPE)
  set(${result}_needed ${needed} PARENT_SCOPE)
endfunction()

# kiln_discover_tests(target prefix)
function(kiln_discover_tests target prefix)
  set(discover ${PROJECT_SOURCE_DIR}/tests/support/discover.cmake)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${file}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DPREFIX=${prefix} -DFILE=${file}
      -DCATCH_VERSION=${Catch2_VERSION} -P ${discover})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${discover})
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_if_built.cmake)
  file(WRITE ${include} "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n"
    "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# kiln_add_test_program(path [OPTIMISED] [AS_USERS_LINK] [WITHOUT_KILN] [SOURCES source...]
#   [EXCEPT source...] [LINK library...] [NEEDS target...])
# Builds test_<name> from tests/<path>/*.cpp, *.c and SOURCES, without EXCEPT; <name> is the last
# part of the path. OPTIMISED: for tests that compute much themselves; the others compile in half
# the time. AS_USERS_LINK: links libkiln.so instead of its objects. WITHOUT_KILN: for tests that use
# no code of Kiln, so that they can run before anything is compiled. NEEDS: targets used at run time.
function(kiln_add_test_program path)
  cmake_parse_arguments(ARG "OPTIMISED;AS_USERS_LINK;WITHOUT_KILN" ""
    "SOURCES;EXCEPT;LINK;NEEDS" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/tests/${path})
  get_filename_component(name ${path} NAME)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/*.c)
  list(TRANSFORM ARG_EXCEPT PREPEND ${folder}/)
  list(REMOVE_ITEM sources ${ARG_EXCEPT})
  list(APPEND sources ${ARG_SOURCES})
  # Of other folders, whose local names may be those of the tests.
  set_source_files_properties(${ARG_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  kiln_find_concurrent(concurrent "${sources}")
  if(concurrent AND KILN_SANITIZE STREQUAL "thread")
    set(sources ${concurrent_needed})  # only the target concurrency_tests is for ThreadSanitizer
  endif()

  set(target test_${name})
  set(library kiln_internal)
  set(parts $<TARGET_OBJECTS:kiln_test_parts>)
  if(ARG_AS_USERS_LINK)
    set(library kiln::kiln kiln_flags)
    set(parts "")
  elseif(ARG_WITHOUT_KILN)
    set(library kiln_flags)
    set(parts "")
  endif()
  add_executable(${target} ${sources} ${parts} $<TARGET_OBJECTS:kiln_test_environment>)
  target_link_libraries(${target} PRIVATE ${library} Catch2::Catch2WithMain ${ARG_LINK})
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/written)  # test_folders.h
  if(KILN_SANITIZE OR NOT ARG_OPTIMISED)
    kiln_compile_quickly(${target})
  endif()
  if(ARG_OPTIMISED)
    kiln_precompile_headers(${target} kiln_optimised_test_headers)
  else()
    kiln_precompile_headers(${target} kiln_test_headers)
  endif()
  if(NOT ARG_WITHOUT_KILN)
    kiln_opens_plugins(${target})
  endif()
  if(ARG_NEEDS)
    add_dependencies(${target} ${ARG_NEEDS})
  endif()

  if(concurrent)
    add_dependencies(concurrency_tests ${target})
  endif()
  kiln_discover_tests(${target} ${name}/)
endfunction()

# kiln_add_test_plugin(name source...): builds lib/tests/libkiln_<name>.so.
function(kiln_add_test_plugin name)
  add_library(test_plugin_${name} MODULE ${ARGN})
  target_link_libraries(test_plugin_${name} PRIVATE kiln_flags kiln_module_reader)
  set_target_properties(test_plugin_${name} PROPERTIES OUTPUT_NAME kiln_${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tests CXX_VISIBILITY_PRESET hidden)
  target_link_options(test_plugin_${name} PRIVATE -Wl,-z,nodelete
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/backends/abi/plugin.map)
endfunction()
