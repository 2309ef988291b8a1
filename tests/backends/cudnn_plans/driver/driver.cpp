// A driver of a machine without a device, to which code can be loaded. It has the functions that
// cuDNN 9.19 resolves, those of a driver that it does not call in this test among them.
#include <cstddef>

#define DRIVER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0, kStubLibrary = 34;  // of CUresult

/// A handle that nothing reads.
int give(void** handle) {
  static int object = 0;
  *handle = &object;
  return kSuccess;
}

}  // namespace

DRIVER_EXPORT int cuLibraryLoadData(void** library) { return give(library); }
DRIVER_EXPORT int cuLibraryLoadFromFile(void** library) { return give(library); }
DRIVER_EXPORT int cuLibraryGetKernel(void** kernel) { return give(kernel); }
DRIVER_EXPORT int cuLibraryUnload() { return kSuccess; }
DRIVER_EXPORT int cuKernelGetFunction(void** function) { return give(function); }
DRIVER_EXPORT int cuKernelSetAttribute() { return kSuccess; }
DRIVER_EXPORT int cuKernelGetAttribute(int* value) {
  *value = 1;
  return kSuccess;
}
DRIVER_EXPORT int cuOccupancyMaxPotentialClusterSize(int* size) {
  *size = 1;
  return kSuccess;
}
DRIVER_EXPORT int cuGetErrorName(int, const char** name) {
  *name = "an error";
  return kSuccess;
}
DRIVER_EXPORT int cuGetErrorString(int, const char** text) {
  *text = "an error";
  return kSuccess;
}

#define DRIVER_STUB(name) \
  DRIVER_EXPORT int name() { return kStubLibrary; }
DRIVER_STUB(cuInit)
DRIVER_STUB(cuDriverGetVersion)
DRIVER_STUB(cuGetProcAddress_v2)
DRIVER_STUB(cuGetExportTable)
DRIVER_STUB(cuDeviceGetCount)
DRIVER_STUB(cuDeviceGet)
DRIVER_STUB(cuDeviceGetAttribute)
DRIVER_STUB(cuCtxGetCurrent)
DRIVER_STUB(cuCtxSetCurrent)
DRIVER_STUB(cuCtxGetDevice)
DRIVER_STUB(cuCtxGetLimit)
DRIVER_STUB(cuCtxPopCurrent)
DRIVER_STUB(cuCtxPushCurrent)
DRIVER_STUB(cuStreamGetCtx)
DRIVER_STUB(cuLinkCreate)
DRIVER_STUB(cuLinkAddData)
DRIVER_STUB(cuLinkComplete)
DRIVER_STUB(cuLinkDestroy)
DRIVER_STUB(cuLaunchKernel)
DRIVER_STUB(cuLaunchKernelEx)
DRIVER_STUB(cuLaunchCooperativeKernel)
DRIVER_STUB(cuModuleLoadData)
DRIVER_STUB(cuModuleGetFunction)
DRIVER_STUB(cuModuleUnload)
DRIVER_STUB(cuFuncSetAttribute)
DRIVER_STUB(cuFuncGetAttribute)
