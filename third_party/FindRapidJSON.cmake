# RapidJSON::RapidJSON: headers.
find_path(RapidJSON_INCLUDE_DIR rapidjson/reader.h)
mark_as_advanced(RapidJSON_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RapidJSON REQUIRED_VARS RapidJSON_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install the Debian package rapidjson-dev, or set RapidJSON_INCLUDE_DIR to
      the folder that holds rapidjson/reader.h.")

if(RapidJSON_FOUND AND NOT TARGET RapidJSON::RapidJSON)
  add_library(RapidJSON::RapidJSON INTERFACE IMPORTED)
  target_include_directories(RapidJSON::RapidJSON INTERFACE ${RapidJSON_INCLUDE_DIR})
endif()
