// The command: chooses rows, measures them one by one, reports.
#include "tools/kiln/bench/bench.h"

#include "tools/kiln/bench/limit_meter.h"
#include "tools/kiln/bench/machine.h"
#include "tools/kiln/bench/report.h"
#include "tools/kiln/bench/team.h"

#include "core/types/nearest.h"
#include "core/types/text.h"

#include <kiln/backend.h>
#include <kiln/function.h>
#include <kiln/error.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace kiln::bench {
namespace {

std::vector<Row> chosen_rows(const Options& options) {
  std::vector<Row> rows = options.device ? device_rows(options.tiny) : all_rows(options.tiny);
  if (options.rows.empty()) return rows;
  std::vector<Row> chosen;
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  for (const std::string& name : options.rows) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      const std::string meant = did_you_mean(name, names);
      throw ValueError("kiln bench", "ROW",
                       text("unknown row '", name, "'", meant,
                            meant.empty() ? "; rows: " : " rows: ", join_text(names, " ")));
    }
    chosen.push_back(rows[static_cast<std::size_t>(found - names.begin())]);
  }
  return chosen;
}

/// Rejects --device when neither --backend nor the settings select a backend on a GPU.
void require_device(const Options& options) {
  if (!options.device || !options.backend.empty() || is_on_gpu()) return;
  throw ValueError(
      "kiln bench", "--device",
      text("the backend in use is '", backend(), "', which has no GPU; name one with --backend"));
}

/// Prints the seconds of the row `options.cold`. `begin`: the start of this process.
void run_alone(const Options& options, double begin) {
  Options one = options;
  one.rows = {options.cold};
  std::printf("%.9f\n", measure_alone(chosen_rows(one).front(), begin));
}

/// Starts all peers, then waits until each is ready.
std::vector<std::unique_ptr<Peer>> start_peers(const std::vector<std::string>& commands) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string& command : commands) peers.push_back(std::make_unique<Peer>(command));
  for (const auto& peer : peers) {
    peer->wait_until_ready();
    std::printf("peer %s\n", peer->name().c_str());
  }
  return peers;
}

void print_speeds(const Options& options) {
  if (!is_on_gpu()) return print_processors(options.threads);
  eval(ones({1}) + 1.0);  // opens the device
  print_device(options.tiny);
}

/// Measures the rows in turn. `failures` counts those that failed other than for lack of memory.
std::vector<Result> measure_all(const std::vector<Row>& rows, const MeasureOptions& options,
                                int& failures) {
  std::vector<Result> results;
  for (const Row& row : rows) {
    try {
      for (const Result& result : measure(row, options)) {
        print_result(result);
        results.push_back(result);
      }
    } catch (const IoError&) {
      throw;
    } catch (const OutOfMemory& error) {
      print_absence("no memory", row, error);
    } catch (const Error& error) {
      print_absence("failed", row, error);
      ++failures;
    }
  }
  return results;
}

}  // namespace

void run(const Options& options) {
  const double begin = seconds_now();
  if (!options.backend.empty()) set_backend(options.backend);
  if (!options.cold.empty()) return run_alone(options, begin);
  if (options.ranks) return run_ranks(options);
  const std::vector<Row> rows = chosen_rows(options);
  require_device(options);
  if (!options.json.empty()) require_writable(options.json);
  print_machine();
  const auto peers = start_peers(options.peers);
  print_speeds(options);
  for (const Row& row : rows) print_row(row);
  print_table_head(options.operators, !peers.empty());
  MeasureOptions measuring{.threads = options.threads,
                           .backend = options.backend,
                           .tiny = options.tiny,
                           .device = options.device,
                           .operators = options.operators,
                           .seconds = options.seconds,
                           .peers = {}};
  for (const auto& peer : peers) measuring.peers.push_back(peer.get());
  int failures = 0;
  const std::vector<Result> results = measure_all(rows, measuring, failures);
  print_scaling(results);
  if (!peers.empty()) print_behind(results);
  if (!options.json.empty()) write_json(options.json, results);
  if (failures > 0) throw Error("kiln bench", "", text(failures, " of the rows failed"));
}

}  // namespace kiln::bench
