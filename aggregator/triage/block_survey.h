#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/facts.h"
#include "aggregator/triage/survey_depth.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

// What triage keeps of one block's lines of one rank.
struct RankSurvey {
  std::uint64_t lines = 0;              // of the block
  std::uint64_t seen = 0, stamped = 0;  // looked at; those of them that say their own time
  UnixNanos first = 0, last = 0;
  // By how much its stamps are past the moment at which they were read, at most: a host's clock is
  // ahead of a file server's by this, or more.
  std::int64_t ahead = 0;
  UnixNanos resolution = 1'000'000'000;  // the coarsest that fits all stamps
  std::vector<TailLine> tail;            // the newest, ascending by offset
  struct Start {
    UnixNanos time = 0;
    bool stamped = false;
  };
  std::map<std::int64_t, Start> iterations;                    // that its own lines said
  std::map<TemplateId, std::vector<IterationStart>> arrivals;  // of stamped lines
  std::map<std::string, Metric> metrics;
};

struct BlockSurvey {
  struct Event {
    std::optional<std::int32_t> wrapper_rank;
    EventFact fact;          // without rank and host, which are joined
    std::uint64_t head = 0;  // of its record
    bool stamped = false;
    std::optional<UnixNanos> next;  // its rank's next stamp in this stream: it was said before that
  };
  std::map<std::optional<std::int32_t>, RankSurvey> ranks;  // by the wrapper's rank
  std::vector<Event> events;
  // Heads of records that Python printed and passed over ("Exception ignored in …"): their lines
  // are no events and nobody's last words. What of such a record is in a later block names its
  // head.
  std::set<std::uint64_t> ignored;
  std::map<TemplateId, std::string> texts;  // of arrivals
  ToldTimes told;                           // by the text of the line above them
  // A line that names another process and its rank, as a driver's table does.
  struct Mention {
    std::int64_t pid = 0, rank = 0;
  };
  std::vector<Mention> mentions;
  std::uint64_t events_left_out = 0;
};

inline constexpr std::size_t kTailLines = 16;         // kept of a block and of a stream
inline constexpr std::size_t kSamples = 512;          // kept of a metric
inline constexpr std::size_t kArrivals = 128;         // kept of a template
inline constexpr std::size_t kArrivalTemplates = 32;  // of a block
inline constexpr std::size_t kTold = 128;             // kept of a timer and rank
inline constexpr std::size_t kTimers = 16;            // of a block
inline constexpr std::size_t kMentions = 8192;        // of a block
inline constexpr std::size_t kBlockEvents = 1024;

// One pass over a block, as deep as is asked for: times, iterations, marks and metadata; no text. A
// damaged block is left out and noted in the view.
Result<std::shared_ptr<const BlockSurvey>> survey_block(BlockingToken& token, JobView& view,
                                                        const BlockRef& block,
                                                        Depth depth = kWholeBlock);

// Appends the survey of the block that follows in the same stream, or of another stream of the
// rank (then `tail` is to be sorted).
void add_metric(Metric& into, const Metric& next);
void add_told(ToldTimes& into, const ToldTimes& next);
void add_arrivals(std::vector<IterationStart>& into, const std::vector<IterationStart>& next);

// About what a survey takes in memory, bytes.
std::size_t memory_of(const BlockSurvey& survey);

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
