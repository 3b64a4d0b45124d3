// Retention over all jobs: what lies on the disk, what goes next, and what is forgotten for good.
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "aggregator/store/directory_listing.h"
#include "aggregator/store/sqlite_storage.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {
namespace {

constexpr std::chrono::seconds kLook{5};  // how often limits are compared
constexpr std::chrono::seconds kReaders{
    60};  // a query that has an unlinked shard open ends by then
constexpr std::chrono::hours kForget{1};
constexpr std::chrono::hours kRememberUnlinked{24 * 366};
constexpr std::chrono::hours kRememberClocks{24 * 30};

std::optional<std::uint32_t> part_number(std::string_view name) {
  if (!name.starts_with("part-") || !name.ends_with(".db")) return std::nullopt;
  name = name.substr(5, name.size() - 8);
  std::uint32_t number = 0;
  const auto [stop, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (wrong != std::errc{} || stop != name.data() + name.size()) return std::nullopt;
  return number;
}

// Size and last write of a shard with its WAL.
void add_file(const std::string& path, PartFile& out) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return;
  if (facts.st_size == 0) return;  // a WAL that the opening made
  out.bytes += static_cast<std::uint64_t>(facts.st_size);
  const UnixNanos at = UnixNanos{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  out.written = std::max(out.written, at);
}

}  // namespace

std::vector<PartFile> SqliteStorage::part_files(BlockingToken&) {
  std::vector<PartFile> out;
  for (const Catalogue::Job& job : catalogue_->all()) {
    if (job.parts.empty()) continue;
    const std::string directory = directory_of(job.key);
    const auto entries = list_directory(directory);
    if (!entries.ok()) continue;  // gone: upkeep says so elsewhere
    const std::size_t begin = out.size();
    for (const auto& entry : *entries) {
      const std::string name = entry.path().filename().string();
      const auto number = part_number(name);
      if (!number) continue;
      PartFile part;
      part.job = job.key;
      part.part = *number;
      add_file(directory + "/" + name, part);
      add_file(directory + "/" + name + "-wal", part);
      out.push_back(std::move(part));
    }
    const auto newest =
        std::max_element(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
                         [](const PartFile& a, const PartFile& b) { return a.part < b.part; });
    if (newest != out.end()) newest->newest = true;
  }
  return out;
}

std::optional<std::uint64_t> SqliteStorage::free_soon() {
  auto free = options_.free_bytes(options_.data_dir);
  if (free && clock_.now() < expected_until_) free = std::max(*free, expected_free_);
  return free;
}

Status SqliteStorage::take_step(BlockingToken& token, const RetentionStep& step) {
  LGR_TRY(auto store, existing(token, step.job));
  if (step.roll_first) return store->roll(token);
  auto freed = store->retire(token, step.part);
  if (!freed.ok() && freed.error().code() == ErrorCode::no_space && ballast_.drop(token)) {
    freed = store->retire(token, step.part);
  }
  if (!freed.ok()) return freed.error();
  if (step.reason == RetentionReason::free_space) {
    const auto free = free_soon();
    expected_free_ = std::max(expected_free_, free.value_or(0)) + *freed;
    expected_until_ = clock_.now() + kReaders;
  }
  LGR_INFO("shard unlinked by retention job={} part={} bytes={} reason={}", step.job.job, step.part,
           *freed, to_string(step.reason));
  return {};
}

Result<bool> SqliteStorage::retain(BlockingToken& token) {
  if (clock_.now() < next_retention_) return false;
  next_retention_ = clock_.now() + kLook;
  const auto free = options_.free_bytes(options_.data_dir);
  if (free && *free > 2 * min_free_bytes_.load()) ballast_.take(token, *free);
  if (clock_.now() >= expected_until_) expected_free_ = 0;
  LGR_CHECK(forget_old(token));
  RetentionLimits limits;
  {
    std::lock_guard lock(retention_mutex_);
    limits = retention_;
  }
  if (!limits.any()) return false;
  const auto step = next_retention_step(limits, part_files(token), free_soon(), clock_.wall_now());
  if (!step) return false;
  LGR_CHECK(take_step(token, *step));
  next_retention_ = {};  // perhaps another is due
  return true;
}

Status SqliteStorage::forget_old(BlockingToken& token) {
  if (clock_.now() < next_forget_) return {};
  next_forget_ = clock_.now() + kForget;
  const auto before = [&](std::chrono::nanoseconds kept) {
    return clock_.wall_now() - kept.count();
  };
  LGR_CHECK(catalogue_->forget_retained(token, before(kRememberUnlinked)));
  return catalogue_->forget_clock_readings(token, before(kRememberClocks));
}

}  // namespace logarithm::aggregator
