# Catch2::Catch2WithMain, by the package's own files.
find_package(Catch2 CONFIG QUIET)
set(found none)
set(Catch2_LIBRARY "")
if(Catch2_FOUND)
  set(found ${Catch2_VERSION})
endif()
if(TARGET Catch2::Catch2WithMain AND Catch2_VERSION VERSION_GREATER_EQUAL 2.13
    AND Catch2_VERSION VERSION_LESS 4)
  set(Catch2_LIBRARY Catch2::Catch2WithMain)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Catch2 REQUIRED_VARS Catch2_DIR Catch2_LIBRARY
  VERSION_VAR Catch2_VERSION
  REASON_FAILURE_MESSAGE "Catch2 2.13 or 3 is needed (found: ${found}). Install the Debian package
      catch2, or set Catch2_DIR to the folder of Catch2Config.cmake of one that was built with
      CATCH_BUILD_STATIC_LIBRARY.")
