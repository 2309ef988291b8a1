// Prints how the step of a dumped function would scale over ranks.
#include "core/types/text.h"
#include "tools/kiln/collectives_file.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"

#include <kiln/error.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>

namespace kiln::tool {
namespace {

using runtime::distributed::Bottleneck;
using runtime::distributed::Machine;
using runtime::distributed::Scaling;
using runtime::distributed::Step;
using runtime::distributed::Summand;

struct ScaleOptions {
  std::string file;
  std::vector<std::size_t> ranks;
  std::optional<double> seconds, latency, bandwidth, node_bandwidth;
  std::optional<std::size_t> bucket;
  double addition = 1.25e-10;
  std::size_t ranks_per_node = 1;

  Machine machine() const {
    return {.latency = *latency,
            .bandwidth = *bandwidth,
            .node_bandwidth = node_bandwidth.value_or(*bandwidth),
            .addition = addition,
            .ranks_per_node = ranks_per_node};
  }
};

const char* name_of(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::Latency: return "latency";
    case Bottleneck::Bandwidth: return "bandwidth";
    case Bottleneck::Addition: return "addition";
    case Bottleneck::Slowest: return "slowest rank";
  }
  return "";
}

void print_left_out(std::ostream& out, const CollectivesFile& file) {
  if (file.others != 0) {
    out << "note: left out, as no all-reduces: " << file.others << " of the collectives\n";
  }
  if (file.without_size.empty()) return;
  std::vector<std::string> lines;
  for (const std::size_t line : file.without_size) lines.push_back(std::to_string(line));
  out << "note: left out, as their sizes depend on the call: the all-reduces of line "
      << join_text(lines) << "\n";
}

void print_row(std::ostream& out, std::size_t ranks, const Scaling& row) {
  out << std::fixed << std::setprecision(1) << std::setw(7) << ranks << std::setw(11)
      << 100 * row.efficiency << "%" << std::setw(14) << 100 * row.one_bucket_efficiency << "%"
      << std::setw(9) << row.buckets << std::setw(14) << row.bucket_bytes << std::setw(10)
      << row.sent.messages << std::setw(16) << row.sent.bytes << "  " << name_of(row.bottleneck)
      << "\n";
}

void scale(const ScaleOptions& options) {
  const CollectivesFile file = read_collectives(options.file);
  const Step step{*options.seconds, file.all_reduces};
  const std::size_t bytes =
      std::accumulate(step.summands.begin(), step.summands.end(), std::size_t{0},
                      [](std::size_t sum, const Summand& one) { return sum + one.bytes; });
  if (bytes == 0) {
    throw ValueError("kiln scale", "FILE",
                     text(options.file, " has no all-reduce of a known size"));
  }
  TextStream out;
  out << step.summands.size() << " all-reduces of " << bytes << " bytes, " << *options.seconds
      << " s forward and backward on one rank\n";
  print_left_out(out, file);
  out << "  ranks  efficiency  in one bucket  buckets  bucket bytes  messages      bytes sent"
      << "  bottleneck\n";
  for (const std::size_t ranks : options.ranks) {
    print_row(out, ranks, scaling_of(options.machine(), step, ranks, options.bucket));
  }
  std::cout << out.str();
}

void add_machine(CLI::App* command, ScaleOptions& options) {
  const auto rate = in_range(1.0, 1e18, "a number of bytes from 1 to 1e18");
  command->add_option("--latency", options.latency, "seconds that a message takes")
      ->required()
      ->check(in_range(0.0, 1e3))
      ->type_name("SECONDS");
  command
      ->add_option("--bandwidth", options.bandwidth,
                   "bytes a second that a node sends, through all its ports together")
      ->required()
      ->check(rate)
      ->type_name("B/S");
  command->add_option("--ranks-per-node", options.ranks_per_node, "ranks that share a node")
      ->check(in_range(1, 1 << 20))
      ->type_name("N");
  command
      ->add_option("--node-bandwidth", options.node_bandwidth,
                   "bytes a second that a rank sends to ranks of its node [default: --bandwidth]")
      ->check(rate)
      ->type_name("B/S");
  command
      ->add_option("--add", options.addition, "seconds for each byte that a sum over ranks reads")
      ->check(in_range(0.0, 1.0))
      ->type_name("SECONDS");
}

}  // namespace

void add_scale(CLI::App& app) {
  const auto options = std::make_shared<ScaleOptions>();
  CLI::App* command = add_command(
      app, "scale", "Predict how a training step scales over ranks, from its all-reduces",
      "kiln scale dump/collectives.txt --seconds 0.03 --ranks 8,64,512 --latency 3e-6 "
      "--bandwidth 12e9 --ranks-per-node 4");
  command->add_option("FILE", options->file, "collectives.txt of a dump")->required();
  command
      ->add_option("--seconds", options->seconds,
                   "seconds of the step's forward and backward computation on one rank")
      ->required()
      ->check(in_range(1e-9, 1e9))
      ->type_name("SECONDS");
  command->add_option("--ranks", options->ranks, "numbers of ranks, a row for each")
      ->required()
      ->check(in_range(2, 1 << 20))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  add_machine(command, *options);
  command
      ->add_option("--bucket", options->bucket,
                   "bytes up to which all-reduces are joined [default: the best by latency and "
                   "bandwidth]")
      ->check(in_range(1ll, 1ll << 50))
      ->type_name("BYTES");
  command->callback([options] { scale(*options); });
}

}  // namespace kiln::tool
