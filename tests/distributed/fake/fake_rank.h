// One rank's use of libkilncomm_fake.so through the C interface, with errors as exceptions.
#pragma once

#include "backends/abi/kiln_communicator_idle.h"
#include "tests/distributed/fake/world/run_ranks.h"

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::fake {

class CommunicatorError : public std::runtime_error {
 public:
  CommunicatorError(std::uint32_t code, const std::string& text)
      : std::runtime_error(text), code(code) {}
  const std::uint32_t code;
};

/// The plugin, opened once in a process. Throws std::runtime_error.
const kiln_communicator_api& fake_api();
/// Its extension.
const kiln_comm_idle& fake_idle();

using ByteVector = std::vector<std::byte>;

class FakeRank {
 public:
  /// Opens the world as that rank.
  FakeRank(const Ranks& ranks, std::uint32_t rank);
  explicit FakeRank(const std::vector<std::pair<std::string, std::string>>& options);

  kiln_comm* world() const { return world_; }
  kiln_comm_info info(kiln_comm* comm) const;
  kiln_comm* split(kiln_comm* comm, std::int64_t color, std::int64_t key) const;
  kiln_comm_work* start(kiln_comm* comm, const kiln_comm_transfer& transfer) const;
  bool test(kiln_comm_work* work) const;
  /// Tests the transfers in turn until all are over. Returns their positions in the order of that.
  std::vector<std::size_t> wait(std::vector<kiln_comm_work*> works) const;
  void idle() const { fake_idle().idle(world_); }
  /// Returns "rank: text" of each text that arrived.
  std::vector<std::string> notify(std::string_view text) const;
  void abort(std::uint32_t exit_code) const { fake_api().abort(world_, exit_code); }
  void close(kiln_comm* comm) const;
  void close() const { close(world_); }

 private:
  kiln_comm* world_ = nullptr;
};

/// A transfer between these buffers, which give its bytes: of an all-gather `send`, of a broadcast
/// `receive`, of an all-to-all `send` divided by the number of ranks.
kiln_comm_transfer all_gather(const ByteVector& send, ByteVector& receive);
kiln_comm_transfer all_to_all(const ByteVector& send, ByteVector& receive, std::uint32_t ranks);
kiln_comm_transfer broadcast(std::uint32_t root, ByteVector& receive);

/// Returns the text of the CommunicatorError that `action` throws; "" if it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const CommunicatorError& error) {
    return error.what();
  }
  return "";
}

}  // namespace kiln::fake
