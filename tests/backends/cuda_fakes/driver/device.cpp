// Numbers of an H100.
#include "tests/backends/cuda_fakes/driver/device.h"

namespace kiln::fake_cuda {

int value_of(DeviceAttribute attribute) {
  switch (attribute) {
    case DeviceAttribute::MaxThreadsPerBlock: return 1024;
    case DeviceAttribute::MaxGridDimX: return 2147483647;
    case DeviceAttribute::MaxGridDimY: return 65535;
    case DeviceAttribute::MaxGridDimZ: return 65535;
    case DeviceAttribute::MaxSharedMemoryPerBlock: return 49152;
    case DeviceAttribute::WarpSize: return 32;
    case DeviceAttribute::MaxRegistersPerBlock: return 65536;
    case DeviceAttribute::ClockRate: return 1980000;
    case DeviceAttribute::MultiprocessorCount: return 132;
    case DeviceAttribute::Integrated: return 0;
    case DeviceAttribute::ComputeMode: return 0;
    case DeviceAttribute::EccEnabled: return 1;
    case DeviceAttribute::MemoryClockRate: return 2619000;
    case DeviceAttribute::MemoryBusWidth: return 5120;
    case DeviceAttribute::L2CacheSize: return 52428800;
    case DeviceAttribute::MaxThreadsPerMultiprocessor: return 2048;
    case DeviceAttribute::UnifiedAddressing: return 1;
    case DeviceAttribute::ComputeCapabilityMajor: return kComputeCapability / 10;
    case DeviceAttribute::ComputeCapabilityMinor: return kComputeCapability % 10;
    case DeviceAttribute::MaxSharedMemoryPerMultiprocessor: return 233472;
    case DeviceAttribute::MaxRegistersPerMultiprocessor: return 65536;
    case DeviceAttribute::CooperativeLaunch: return 1;
    case DeviceAttribute::MaxSharedMemoryPerBlockOptIn: return 232448;
    case DeviceAttribute::VirtualMemorySupported: return 1;
    case DeviceAttribute::MaxBlocksPerMultiprocessor: return 32;
    case DeviceAttribute::ReservedSharedMemoryPerBlock: return 1024;
    case DeviceAttribute::MemoryPoolsSupported: return 1;
  }
  return -1;
}

}  // namespace kiln::fake_cuda
