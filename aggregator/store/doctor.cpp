#include "aggregator/store/doctor.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "aggregator/store/directory_listing.h"
#include "aggregator/store/doctor_shard.h"
#include "aggregator/store/schema.h"
#include "aggregator/store/sqlite.h"
#include "common/base/types.h"

namespace logarithm::aggregator {
namespace {

using PartName = std::pair<std::string, std::uint32_t>;  // directory of the job, part

struct Listed {
  std::set<PartName> parts;
  std::map<PartName, std::set<std::string>> streams;
};

std::string directory_of(const std::string& data_dir, std::string_view tenant,
                         std::string_view job) {
  return data_dir + "/" + to_text(hash_base(tenant)) + "/" + to_text(hash_base(job));
}

Result<Listed> read_catalogue(BlockingToken& token, const DoctorOptions& options,
                              DoctorReport& report) {
  Listed out;
  const std::string path = options.data_dir + "/catalogue.db";
  Database::Options how;
  how.read_only = options.read_only;
  LGR_TRY(auto database, Database::open(token, path, how));
  {
    LGR_TRY(Statement rows, database->prepare("PRAGMA quick_check(20)"));
    for (;;) {
      LGR_TRY(bool more, rows.step(token));
      if (!more) break;
      if (rows.bytes(0) != "ok") return Error(ErrorCode::corrupt, std::string(rows.bytes(0)));
    }
  }
  LGR_TRY(const auto version, database->number(token, "PRAGMA user_version"));
  if (version.value_or(0) > kCatalogueSchema) {
    report.notes.push_back("catalogue.db: a newer schema version, not compared");
    return out;
  }
  LGR_TRY(Statement parts, database->prepare("SELECT j.tenant, j.job, p.part FROM parts p JOIN "
                                             "jobs j ON j.id=p.job"));
  for (;;) {
    LGR_TRY(bool more, parts.step(token));
    if (!more) break;
    out.parts.emplace(directory_of(options.data_dir, parts.bytes(0), parts.bytes(1)), parts.u32(2));
  }
  LGR_TRY(Statement streams,
          database->prepare("SELECT j.tenant, j.job, s.part, s.base_hi, s.base_lo, s.generation "
                            "FROM streams s JOIN jobs j ON j.id=s.job"));
  for (;;) {
    LGR_TRY(bool more, streams.step(token));
    if (!more) return out;
    const StreamId id{StreamBase{streams.u64(3), streams.u64(4)}, streams.u32(5)};
    const PartName part{directory_of(options.data_dir, streams.bytes(0), streams.bytes(1)),
                        streams.u32(2)};
    out.streams[part].insert(to_text(id));
  }
}

// What the catalogue names and nobody has; what it lacks is put in at the next start.
void compare(const Listed& catalogue, const Listed& found, DoctorReport& report) {
  for (const PartName& part : catalogue.parts) {
    const std::string path = part.first + "/part-" + std::to_string(part.second) + ".db";
    if (!found.parts.contains(part)) report.catalogue.push_back("is gone: " + path);
  }
  for (const PartName& part : found.parts) {
    const std::string path = part.first + "/part-" + std::to_string(part.second) + ".db";
    if (!catalogue.parts.contains(part)) {
      report.notes.push_back("not in the catalogue yet: " + path);
      continue;
    }
    const auto known = catalogue.streams.find(part);
    const auto stored = found.streams.find(part);
    if (stored == found.streams.end()) continue;
    std::size_t missing = 0;
    for (const std::string& stream : stored->second) {
      if (known == catalogue.streams.end() || !known->second.contains(stream)) ++missing;
    }
    if (missing > 0) {
      report.notes.push_back(std::to_string(missing) +
                             " streams not in the catalogue yet: " + path);
    }
  }
}

Status examine_shards(BlockingToken& token, const DoctorOptions& options, DoctorReport& report,
                      Listed& found) {
  LGR_TRY(auto entries, list_directory(options.data_dir, true));
  std::vector<std::string> paths;
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.find(".bad") != std::string::npos) ++report.set_aside;
    if (name.starts_with("part-") && name.ends_with(".db")) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    ShardDoctor shard(path, options.read_only);
    const Status status = shard.examine(token);
    ShardReport one = shard.report();
    if (!status.ok()) one.problems.push_back("cannot be examined: " + status.error().message());
    const std::string directory = std::filesystem::path(path).parent_path().string();
    const bool there = !one.tenant.empty() || !one.job.empty();
    if (there && directory != directory_of(options.data_dir, one.tenant, one.job)) {
      one.problems.push_back("belongs to job \"" + one.job + "\", whose directory this is not");
    } else if (there) {
      const PartName part(directory, shard.part());
      found.parts.insert(part);
      found.streams[part].insert(shard.streams().begin(), shard.streams().end());
    }
    for (const std::string& done : one.done) {
      report.set_aside += done.find(".bad") != std::string::npos ? 1 : 0;
    }
    report.shards.push_back(std::move(one));
  }
  return {};
}

}  // namespace

bool DoctorReport::healthy() const {
  return catalogue.empty() && std::all_of(shards.begin(), shards.end(),
                                          [](const auto& shard) { return shard.problems.empty(); });
}

Result<DoctorReport> examine(BlockingToken& token, const DoctorOptions& options) {
  DoctorReport report;
  Listed found;
  LGR_CHECK(examine_shards(token, options, report, found));
  std::error_code ignored;
  if (!std::filesystem::exists(options.data_dir + "/catalogue.db", ignored)) {
    report.notes.emplace_back("no catalogue yet");
    return report;
  }
  auto catalogue = read_catalogue(token, options, report);
  if (catalogue.ok()) {
    if (!catalogue->parts.empty() || report.notes.empty()) compare(*catalogue, found, report);
  } else if (catalogue.error().code() == ErrorCode::corrupt) {
    report.catalogue.push_back("damaged, the next start builds it anew: " +
                               catalogue.error().message());
  } else {
    report.catalogue.push_back("cannot be read: " + catalogue.error().message());
  }
  return report;
}

std::string to_text(const DoctorReport& report) {
  std::string out;
  std::uint64_t bytes = 0, blocks = 0, lines = 0;
  for (const ShardReport& shard : report.shards) {
    bytes += shard.bytes;
    blocks += shard.blocks;
    lines += shard.lines;
    if (shard.problems.empty()) continue;
    out += shard.path + " (job \"" + shard.job + "\")\n";
    for (const std::string& problem : shard.problems) out += "  " + problem + "\n";
    for (const std::string& done : shard.done) out += "  -> " + done + "\n";
  }
  for (const std::string& problem : report.catalogue) out += "catalogue: " + problem + "\n";
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  if (report.set_aside > 0) {
    out += "note: " + std::to_string(report.set_aside) + " files lie there as damaged (.bad)\n";
  }
  out += std::to_string(report.shards.size()) + " shards, " + std::to_string(blocks) + " blocks, " +
         std::to_string(lines) + " lines, " + std::to_string(bytes) +
         " bytes: " + (report.healthy() ? "healthy" : "damaged") + "\n";
  return out;
}

std::string to_json(const DoctorReport& report) {
  nlohmann::json out;
  out["healthy"] = report.healthy();
  out["shards"] = nlohmann::json::array();
  for (const ShardReport& shard : report.shards) {
    out["shards"].push_back({{"path", shard.path},
                             {"tenant", shard.tenant},
                             {"job", shard.job},
                             {"bytes", std::to_string(shard.bytes)},
                             {"blocks", shard.blocks},
                             {"lines", shard.lines},
                             {"damaged_blocks", shard.damaged_blocks},
                             {"problems", shard.problems},
                             {"done", shard.done}});
  }
  out["catalogue"] = report.catalogue;
  out["notes"] = report.notes;
  out["set_aside"] = report.set_aside;
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace logarithm::aggregator
