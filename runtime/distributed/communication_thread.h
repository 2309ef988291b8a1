// The one thread that uses the communicator, from joining the world to leaving it. It runs jobs in
// the order in which they are added, so that they overlap with the computation of other threads.
#pragma once

#include "core/types/fork.h"
#include "runtime/distributed/channel.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace kiln::runtime::distributed {

class CommunicationThread {
 public:
  /// The channel of the world, and what runs on the thread.
  using Job = std::function<void(Channel& world)>;

  /// Starts the thread and joins the world; waits for all ranks. Throws CommunicatorError.
  CommunicationThread(const CommunicatorLibrary& library, const CommunicatorOptions& options,
                      const WaitLimits& limits, Clock clock);
  /// Ends the thread. A world that was not closed stays as it is.
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;

  const Place& place() const { return place_; }
  /// Whether the caller runs on it.
  bool is_current() const { return thread_.get_id() == std::this_thread::get_id(); }

  /// Adds a job and returns its number. `title`: of what it belongs to, for log lines.
  /// REQUIRES: all objects that the job uses live until wait() returns.
  std::uint64_t add(std::string title, Job job);
  /// Waits until the job has ended. CommunicatorError with the reason of the first job that threw,
  /// if this is that job or a later one: these do not run.
  void wait(std::uint64_t job);
  void run(std::string title, Job job) { wait(add(std::move(title), std::move(job))); }

  /// The channel of a part of `parent`; lives as long as the object. Called within a job.
  Channel& split(Channel& parent, std::int64_t color, std::int64_t key);

  /// Leaves the world; all ranks do. No job can be added afterwards. Throws CommunicatorError.
  void close();
  /// Ends the processes of all ranks with this exit code.
  void abort(std::uint32_t exit_code);

 private:
  struct Entry {
    std::string title;
    std::function<void()> body;
  };
  static constexpr std::uint64_t kNone = UINT64_MAX;

  std::uint64_t add(std::string title, std::function<void()> body);
  void run_jobs();
  /// Returns the text of what the body threw; empty for nothing.
  std::string run_one(const Entry& entry);
  /// Ends the thread after the jobs that it has.
  void stop();

  /// Waits until condition(), which is called with the lock, as after each change.
  template <class Condition>
  void wait_until(std::unique_lock<ForkMutex>& lock, const Condition& condition);
  /// Wakes those that wait. Called with the lock, after a change.
  void notify();

  ForkMutex mutex_;
  std::atomic<std::uint32_t> changes_{0};
  std::deque<Entry> jobs_;  // those that have not ended, the running one first
  std::uint64_t added_ = 0, ended_ = 0;
  std::uint64_t broken_by_ = kNone;  // the first job that threw
  std::string broken_;  // its reason
  std::uint32_t abort_code_ = 0;  // not 0: to be called at the end
  bool is_stopped_ = false;

  // Of the thread alone, but place_, which does not change after the constructor, and the number of
  // waiting threads.
  Waits waits_;
  std::unique_ptr<World> world_;
  std::list<Channel> channels_;  // the world's first
  Place place_;
  std::thread thread_;
};

}  // namespace kiln::runtime::distributed
