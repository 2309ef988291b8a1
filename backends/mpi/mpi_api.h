// Declares the functions and constants of MPI that Kiln calls, for the three binary interfaces that
// MPI libraries have. They are declared here because the library is chosen at run time, and each
// mpi.h fits one interface alone. All handles (communicator, data type, error handler, info,
// request) are of one type in each interface: an int in MPICH's, a pointer in the other two.
#pragma once

#include <array>
#include <cstdint>

/// Rows (member, MPI's name, parameter types) of functions that return an error code. Parameters of
/// type void* that are statuses take Numbers::status_ignore.
#define KILN_MPI_FUNCTIONS(X)                                                                  \
  X(initialized, MPI_Initialized, int*)                                                        \
  X(finalized, MPI_Finalized, int*)                                                            \
  X(init_thread, MPI_Init_thread, int*, char***, int, int*)                                    \
  X(query_thread, MPI_Query_thread, int*)                                                      \
  X(finalize, MPI_Finalize, )                                                                  \
  X(abort, MPI_Abort, Handle, int)                                                             \
  X(get_library_version, MPI_Get_library_version, char*, int*)                                 \
  X(error_string, MPI_Error_string, int, char*, int*)                                          \
  X(comm_rank, MPI_Comm_rank, Handle, int*)                                                    \
  X(comm_size, MPI_Comm_size, Handle, int*)                                                    \
  X(comm_dup, MPI_Comm_dup, Handle, Handle*)                                                   \
  X(comm_free, MPI_Comm_free, Handle*)                                                         \
  X(comm_split, MPI_Comm_split, Handle, int, int, Handle*)                                     \
  X(comm_split_type, MPI_Comm_split_type, Handle, int, int, Handle, Handle*)                   \
  X(comm_set_errhandler, MPI_Comm_set_errhandler, Handle, Handle)                              \
  X(all_gather, MPI_Iallgather, const void*, int, Handle, void*, int, Handle, Handle, Handle*) \
  X(all_to_all, MPI_Ialltoall, const void*, int, Handle, void*, int, Handle, Handle, Handle*)  \
  X(broadcast, MPI_Ibcast, void*, int, Handle, int, Handle, Handle*)                           \
  X(test, MPI_Test, Handle*, int*, void*)                                                      \
  X(send, MPI_Isend, const void*, int, Handle, int, int, Handle, Handle*)                      \
  X(probe, MPI_Iprobe, int, int, Handle, int*, void*)                                          \
  X(receive, MPI_Recv, void*, int, Handle, int, int, Handle, void*)

namespace kiln::mpi {

/// Standard: that of MPI 5, which libmpi_abi.so has.
enum class Abi { OpenMpi, Mpich, Standard };

template <class Handle>
struct Functions {
#define KILN_MPI_MEMBER(member, symbol, ...) int (*member)(__VA_ARGS__) = nullptr;
  KILN_MPI_FUNCTIONS(KILN_MPI_MEMBER)
#undef KILN_MPI_MEMBER
};

inline constexpr int kSuccess = 0;  // MPI_SUCCESS of all interfaces
/// At least MPI_MAX_LIBRARY_VERSION_STRING and MPI_MAX_ERROR_STRING of all interfaces.
inline constexpr int kMaxText = 8192;

/// Indices of Numbers::thread_levels.
enum ThreadLevel { Single, Funneled, Serialized, Multiple };

/// Constants that are numbers.
struct Numbers {
  int any_source;  // MPI_ANY_SOURCE
  int shared_memory;  // MPI_COMM_TYPE_SHARED: the processes of one machine
  std::array<int, 4> thread_levels;  // MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED, _MULTIPLE
  std::uintptr_t status_ignore;  // MPI_STATUS_IGNORE, an address
};
inline constexpr Numbers kOpenMpiNumbers{-1, 0, {0, 1, 2, 3}, 0};
inline constexpr Numbers kMpichNumbers{-2, 1, {0, 1, 2, 3}, 1};
inline constexpr Numbers kStandardNumbers{-1, 221, {0, 1024, 2048, 4096}, 0};

/// Constants that are handles: MPI_COMM_WORLD, MPI_BYTE, MPI_ERRORS_RETURN, MPI_INFO_NULL. In the
/// standard interface they are addresses.
template <class Handle>
struct Handles {
  Handle world, byte, errors_return, info_null;
};
inline constexpr Handles<int> kMpichHandles{0x44000000, 0x4c00010d, 0x54000001, 0x1c000000};
inline constexpr Handles<std::uintptr_t> kStandardHandles{0x101, 0x247, 0x143, 0x130};
/// Names of the objects whose addresses they are in Open MPI.
inline constexpr Handles<const char*> kOpenMpiHandles{
    "ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_errors_return", "ompi_mpi_info_null"};

}  // namespace kiln::mpi
