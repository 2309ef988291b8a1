// Prints one line per row and number of threads, as soon as it is measured.
#include "tools/kiln/bench/report.h"

#include "tools/kiln/bench/device_copy.h"
#include "tools/kiln/bench/multiply_add.h"
#include "tools/kiln/bench/stream.h"

#include "core/types/text.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace kiln::bench {
namespace {

/// Milliseconds with three significant digits.
std::string milliseconds(std::optional<double> seconds) {
  if (!seconds) return "-";
  char out[32];
  std::snprintf(out, sizeof out, "%.3g", *seconds * 1e3);
  return out;
}

std::string factor(std::optional<double> value) {
  if (!value) return "-";
  char out[32];
  std::snprintf(out, sizeof out, "%.2f", *value);
  return out;
}

std::optional<double> quotient(double a, std::optional<double> b) {
  if (!b || *b <= 0) return std::nullopt;
  return a / *b;
}

/// The fastest one; null where none has the row.
const PeerResult* best_peer(const Result& result) {
  return result.peers.empty() ? nullptr : &result.peers.front();
}

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void write_number(Writer& out, const char* key, std::optional<double> value) {
  out.Key(key);
  if (value) out.Double(*value);
  else out.Null();
}

std::optional<double> thousandfold(std::optional<double> value) {
  if (value) *value *= 1e3;
  return value;
}

std::string name_and_form(const PeerResult& peer) {
  return peer.form.empty() ? peer.name : peer.name + ", " + peer.form;
}

void write_string(Writer& out, const char* key, const std::string& value) {
  out.Key(key);
  out.String(value.c_str());
}

void write_peers(Writer& out, const std::vector<PeerResult>& peers) {
  out.Key("peers");
  out.StartArray();
  for (const PeerResult& peer : peers) {
    out.StartObject();
    write_string(out, "peer", peer.name);
    write_string(out, "form", peer.form);
    write_number(out, "ms", thousandfold(peer.seconds));
    write_number(out, "ratio", peer.ratio);
    out.EndObject();
  }
  out.EndArray();
}

void write_result(Writer& out, const Result& result) {
  const PeerResult* best = best_peer(result);
  out.StartObject();
  write_string(out, "row", result.row);
  out.Key("threads");
  out.Int(result.threads);
  write_number(out, "ours_ms", thousandfold(result.ours));
  write_number(out, "limit_ms", thousandfold(result.limit));
  out.Key("peer");
  if (best) out.String(name_and_form(*best).c_str());
  else out.Null();
  write_number(out, "peer_ms", best ? thousandfold(best->seconds) : std::nullopt);
  write_number(out, "ratio", best ? std::optional(best->ratio) : std::nullopt);
  write_peers(out, result.peers);
  write_number(out, "operator_ratio", result.operator_ratio);
  write_number(out, "memory", result.memory);
  out.EndObject();
}

}  // namespace

void print_processors(const std::vector<int>& threads) {
  for (const int count : threads) {
    std::printf("%d thread%s: %.0f GFLOP/s float32 (%s); copies, GB/s by footprint:", count,
                count == 1 ? "" : "s", peak_operations(count) * 1e-9, peak_vectors());
    for (const int kilobytes : {32, 256, 1024, 4096, 16384, 65536, 262144}) {
      const Stream stream(1, 1, static_cast<std::size_t>(kilobytes) * 1024 / 2 / sizeof(float));
      const char* unit = kilobytes < 1024 ? "K" : "M";
      std::printf("  %d%s %.0f", kilobytes < 1024 ? kilobytes : kilobytes / 1024, unit,
                  stream.bytes() / stream.seconds(count) * 1e-9);
    }
    std::printf("\n");
  }
}

void print_device(bool tiny) {
  std::printf("device copies, GB/s by footprint:");
  try {
    for (const int megabytes : {1, 16, 64, 256, 1024}) {
      if (tiny && megabytes > 1) break;
      const DeviceCopy copy(megabytes * 1048576.0);
      std::printf("  %dM %.0f", megabytes, copy.bytes() / copy.seconds() * 1e-9);
    }
  } catch (const OutOfMemory&) {
    std::printf("  no memory for more");
  }
  std::printf("\n");
}

void print_row(const Row& row) {
  std::printf("\n%s: %s\n", row.name.c_str(), row.work.c_str());
  if (!row.limit.formula.empty()) std::printf("  limit: %s\n", row.limit.formula.c_str());
}

void print_table_head(bool operators, bool has_peers) {
  std::printf("\n%-20s %7s %11s %11s %9s %9s", "row", "threads", "ours ms", "limit ms", "ours/lim",
              "mem/live");
  if (operators) std::printf(" %9s", "op/into");
  if (has_peers) std::printf(" %11s %9s  best peer", "peer ms", "peer/ours");
  std::printf("\n");
}

void print_result(const Result& result) {
  std::printf("%-20s %7d %11s %11s %9s %9s", result.row.c_str(), result.threads,
              milliseconds(result.ours).c_str(), milliseconds(result.limit).c_str(),
              factor(quotient(result.ours, result.limit)).c_str(), factor(result.memory).c_str());
  if (result.operator_ratio) std::printf(" %9s", factor(result.operator_ratio).c_str());
  if (const PeerResult* best = best_peer(result)) {
    std::printf(" %11s %9s  %s", milliseconds(best->seconds).c_str(), factor(best->ratio).c_str(),
                name_and_form(*best).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print_absence(const char* kind, const Row& row, const Error& error) {
  std::printf("%s %s: %s\n", kind, row.name.c_str(), error.what());
  std::fflush(stdout);
}

void print_scaling(const std::vector<Result>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t j = i + 1; j < results.size() && results[j].row == results[i].row; ++j) {
      if (i > 0 && results[i - 1].row == results[i].row) break;
      std::printf("%s: %d threads against %d: %.2f times\n", results[i].row.c_str(),
                  results[j].threads, results[i].threads, results[i].ours / results[j].ours);
    }
  }
}

void print_behind(const std::vector<Result>& results) {
  bool any = false;
  for (const Result& result : results) {
    const PeerResult* best = best_peer(result);
    if (!best || best->ratio >= 1) continue;
    std::printf("behind: %s, %d thread%s: %.2f of %s", result.row.c_str(), result.threads,
                result.threads == 1 ? "" : "s", best->ratio, name_and_form(*best).c_str());
    if (result.limit) {
      std::printf("; of the limit: ours %.2f, peer %.2f", result.ours / *result.limit,
                  best->seconds / *result.limit);
    }
    if (!result.note.empty()) std::printf("; %s", result.note.c_str());
    std::printf("\n");
    any = true;
  }
  if (!any) std::printf("behind: no row\n");
}

void require_writable(const std::string& file) {
  std::error_code error;
  const bool existed = std::filesystem::exists(file, error);
  if (!std::ofstream(file, std::ios::binary | std::ios::app)) {
    throw IoError("kiln bench", "--json", text("cannot write '", file, "'"));
  }
  if (!existed) std::filesystem::remove(file, error);
}

void write_json(const std::string& file, const std::vector<Result>& results) {
  rapidjson::StringBuffer buffer;
  Writer out(buffer);
  out.StartArray();
  for (const Result& result : results) write_result(out, result);
  out.EndArray();
  std::ofstream stream(file, std::ios::binary);
  stream << buffer.GetString() << "\n";
  stream.flush();
  if (!stream) throw IoError("kiln bench", "--json", text("cannot write '", file, "'"));
}

}  // namespace kiln::bench
