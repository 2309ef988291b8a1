// The command: chooses rows, measures them one by one, reports.
#include "tools/kiln/bench/bench.h"

#include "tools/kiln/bench/report.h"

#include "core/types/text.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <cstdio>
#include <memory>

namespace kiln::bench {
namespace {

std::vector<Row> chosen_rows(const Options& options) {
  std::vector<Row> rows = all_rows(options.tiny), chosen;
  if (options.rows.empty()) return rows;
  for (const std::string& name : options.rows) {
    std::string known;
    for (const Row& row : rows) known += " " + row.name;
    bool found = false;
    for (const Row& row : rows) {
      if (row.name != name) continue;
      chosen.push_back(row);
      found = true;
    }
    if (!found) {
      throw ValueError("kiln bench", "ROW", text("no row '", name, "'; there are:", known));
    }
  }
  return chosen;
}

void require_threads(const std::vector<int>& threads) {
  for (const int count : threads) {
    if (count >= 1 && count <= 256) continue;
    throw ValueError("kiln bench", "--threads", text(count, " is not from 1 to 256"));
  }
}

void run_cold(const Options& options) {
  Options one = options;
  one.rows = {options.cold};
  std::printf("%.9f\n", measure_cold(chosen_rows(one).front()));
}

}  // namespace

void run(const Options& options) {
  require_threads(options.threads);
  if (!options.backend.empty()) set_backend(options.backend);
  if (!options.cold.empty()) return run_cold(options);
  const std::vector<Row> rows = chosen_rows(options);
  const BackendChoice choice = backend_choice();
  std::printf("backend %s (%s)\n", choice.name.c_str(), choice.reason.c_str());
  std::unique_ptr<Peer> peer;
  if (!options.peer.empty()) peer = std::make_unique<Peer>(options.peer);
  if (peer) std::printf("peer %s\n", peer->name().c_str());
  print_machine(options.threads);
  for (const Row& row : rows) print_row(row);
  const MeasureOptions measuring{options.threads, options.backend, options.tiny, peer.get()};
  std::vector<Result> results;
  print_table_head(peer ? peer->name() : "");
  for (const Row& row : rows) {
    for (const Result& result : measure(row, measuring)) {
      print_result(result);
      results.push_back(result);
    }
  }
  print_scaling(results);
  if (!options.json.empty()) write_json(options.json, results, peer ? peer->name() : "");
}

}  // namespace kiln::bench
