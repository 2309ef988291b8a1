// Compares declarations of mpi_api.h with those of the mpi.h that is included before this header.
#pragma once

#include "backends/mpi/mpi_api.h"
#include "tests/support/catch.h"

#include <type_traits>

namespace {

/// Whether a caller may take one type for the other: of pointers to distinct types, ours is void*.
template <class Own, class Theirs>
constexpr bool is_alike() {
  if constexpr (std::is_same_v<Own, Theirs>) return true;
  if constexpr (std::is_pointer_v<Own> && std::is_pointer_v<Theirs>) {
    using OwnTarget = std::remove_pointer_t<Own>;
    if constexpr (std::is_void_v<OwnTarget>) return true;
    return is_alike<OwnTarget, std::remove_pointer_t<Theirs>>();
  }
  return false;
}

template <class... Own, class... Theirs>
constexpr bool have_same_parameters(int (*)(Own...), int (*)(Theirs...)) {
  if constexpr (sizeof...(Own) != sizeof...(Theirs)) return false;
  return (is_alike<Own, Theirs>() && ...);
}

template <class Own, class Theirs>
constexpr bool kSameParameters = have_same_parameters(Own{}, Theirs{});

/// `Handle`: int or void*.
template <class Handle>
int same_functions() {
  int count = 0;
#define SAME_FUNCTION(member, symbol, ...)                                                 \
  static_assert(                                                                           \
      kSameParameters<decltype(kiln::mpi::Functions<Handle>::member), decltype(&symbol)>); \
  ++count;
  KILN_MPI_FUNCTIONS(SAME_FUNCTION)
#undef SAME_FUNCTION
  return count;
}

void check_numbers(const kiln::mpi::Numbers& numbers) {
  CHECK(numbers.any_source == MPI_ANY_SOURCE);
  CHECK(numbers.shared_memory == MPI_COMM_TYPE_SHARED);
  CHECK(numbers.thread_levels == std::array<int, 4>{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                                    MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE});
  CHECK(reinterpret_cast<void*>(numbers.status_ignore) == MPI_STATUS_IGNORE);
  CHECK(kiln::mpi::kSuccess == MPI_SUCCESS);
  CHECK(kiln::mpi::kMaxText >= MPI_MAX_ERROR_STRING);
  CHECK(kiln::mpi::kMaxText >= MPI_MAX_LIBRARY_VERSION_STRING);
}

}  // namespace
