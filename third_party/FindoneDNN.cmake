# DNNL::dnnl, by the package's own files.
set(found none)

# Debian's oneDNN is built for OpenCL: its files end the configuration where OpenCL is missing.
# No version is 0: the files are located and not read.
find_package(OpenCL QUIET)
set(needs_opencl "")
if(NOT OpenCL_FOUND)
  set(directory "${dnnl_DIR}")
  find_package(dnnl 0 EXACT CONFIG QUIET)
  set(dnnl_DIR "${directory}" CACHE PATH "The folder of dnnl-config.cmake" FORCE)
  if(dnnl_CONSIDERED_CONFIGS)
    list(GET dnnl_CONSIDERED_CONFIGS 0 file)
    list(GET dnnl_CONSIDERED_VERSIONS 0 found)
    file(STRINGS ${file} needs_opencl REGEX "DNNL_GPU_RUNTIME \"OCL\"")
  endif()
endif()

set(oneDNN_CONFIG "")
if(needs_opencl)
  string(APPEND found ", without OpenCL")
else()
  find_package(dnnl CONFIG QUIET)  # its version file rejects a range of major versions
  if(dnnl_FOUND)
    set(found ${dnnl_VERSION})
  endif()
  if(dnnl_FOUND AND dnnl_VERSION VERSION_GREATER_EQUAL 2.6 AND dnnl_VERSION VERSION_LESS 4)
    set(oneDNN_CONFIG ${dnnl_CONFIG})
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_CONFIG VERSION_VAR dnnl_VERSION
  REASON_FAILURE_MESSAGE "oneDNN 2.6 or 3 is needed (found: ${found}). Install the Debian packages
      libdnnl-dev and ocl-icd-opencl-dev, or set dnnl_DIR to the folder of another
      dnnl-config.cmake.")
