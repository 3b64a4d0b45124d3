// The background work of a job: sealing, the template index, the WAL.
#include "aggregator/store/job_store.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kRunsAtOnce = 16;

}  // namespace

Result<bool> JobStore::maintain(BlockingToken& token) {
  LGR_CHECK(check_files(token));
  LGR_TRY(bool more, seal_some(token));
  std::lock_guard lock(write_);
  if (parts_.empty()) return more;
  Shard& shard = *parts_.back();
  if (shard.templates_since_optimize() >= options_.optimize_after) {
    LGR_TRY(Transaction transaction, Transaction::begin(token, shard.database()));
    LGR_CHECK(shard.optimize_index(token));
    LGR_CHECK(transaction.commit());
  }
  LGR_CHECK(shard.database().checkpoint(token));
  LGR_TRY(auto fresh, shard.database().number(token, "SELECT count(*) FROM inbox"));
  inbox_blocks_.store(static_cast<std::uint64_t>(fresh.value_or(0)));
  return more;
}

Result<bool> JobStore::seal_some(BlockingToken& token) {
  std::vector<std::pair<std::uint32_t, SealRun>> runs;
  {
    std::lock_guard lock(write_);
    for (const auto& part : parts_) {
      SealLimits limits = options_.seal;
      limits.nothing_follows = part != parts_.back();  // it was rolled
      LGR_TRY(auto found, find_runs(token, *part, clock_.wall_now(), limits, kRunsAtOnce));
      for (SealRun& run : found) runs.emplace_back(part->part(), std::move(run));
    }
  }
  std::optional<Error> failed;
  for (const auto& [part, run] : runs) {
    Status status = seal_run(token, part, run);
    if (!status.ok()) failed = status.error();
  }
  // The others were sealed; the caller counts and logs the failure.
  if (failed) return *failed;
  return runs.size() >= kRunsAtOnce;
}

Shard* JobStore::find_part(std::uint32_t part) {
  for (const auto& shard : parts_) {
    if (shard->part() == part) return shard.get();
  }
  return nullptr;
}

Status JobStore::seal_run(BlockingToken& token, std::uint32_t part, const SealRun& run) {
  LoadedRun loaded;
  if (run.rows.size() > 1) {
    std::lock_guard lock(write_);
    Shard* shard = find_part(part);
    if (shard == nullptr) return {};
    LGR_TRY(loaded, load_run(token, *shard, run));
  }
  Status sealed = seal_loaded(token, part, loaded, run, false);
  // Lines that came plain, because the part holds another text under their fingerprint, stay so.
  if (!sealed.ok() && sealed.error().code() == ErrorCode::conflict) {
    sealed = seal_loaded(token, part, loaded, run, true);
  }
  if (sealed.ok()) counters_.sealed_runs.fetch_add(1);
  return std::move(sealed).with_context("seal");
}

Status JobStore::seal_loaded(BlockingToken& token, std::uint32_t part, const LoadedRun& loaded,
                             const SealRun& run, bool plain) {
  std::optional<EncodedBlock> merged;
  if (run.rows.size() > 1) {
    // The costly step is outside of the lock: commits go on meanwhile. Only this function takes
    // rows out of the inbox, and one caller at a time runs it.
    auto result = merge_run(token, loaded, plain);
    if (result.ok()) {
      merged = std::move(*result);
    } else {
      counters_.unmergeable_runs.fetch_add(1);
      LGR_ERROR("blocks cannot be merged, kept as they are error=\"{}\"",
                result.error().to_string());
    }
  }
  std::lock_guard lock(write_);
  Shard* shard = find_part(part);
  if (shard == nullptr) return {};
  auto swap = [&]() -> Status {
    LGR_TRY(Transaction transaction, Transaction::begin(token, shard->database()));
    if (merged) {
      LGR_CHECK(swap_run(token, *shard, loaded, *merged));
    } else {
      LGR_CHECK(move_run(token, *shard, run));
    }
    return transaction.commit();
  };
  Status status = swap();
  if (!status.ok()) shard->forget();
  return status;
}

}  // namespace logarithm::aggregator
