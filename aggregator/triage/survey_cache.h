#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/block_survey.h"
#include "aggregator/triage/survey_depth.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

// Surveys of blocks, which never change; the least recently used go first. Thread-safe.
class SurveyCache {
 public:
  // Keeps about so many bytes of surveys.
  explicit SurveyCache(std::size_t most) : most_(most) {}
  Result<std::shared_ptr<const BlockSurvey>> get(BlockingToken& token, JobView& view,
                                                 const BlockRef& block, Depth depth = kWholeBlock);

 private:
  struct Key {
    JobKey job;
    StreamId stream;
    std::uint64_t first = 0, end = 0;
    Depth depth = kWholeBlock;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    std::shared_ptr<const BlockSurvey> survey;
    std::size_t bytes = 0;
    std::uint64_t used = 0;
  };
  void make_room();

  std::size_t most_;
  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::size_t bytes_ = 0;
  std::map<Key, Entry> entries_;
};

}  // namespace logarithm::aggregator::triage
