#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/query/fold.h"

namespace logarithm::aggregator {

// Lines and their bytes in the files, terminators and wrappers included.
struct LineSum {
  std::uint64_t lines = 0, bytes = 0;
  void add(std::uint64_t more_bytes) {
    ++lines;
    bytes += more_bytes;
  }
};

// One place that prints lines: a call site, or a group of templates where the logger names none.
struct Site {
  std::string callsite;               // "file:line", or empty
  TemplateId template_id = 0;         // of the group, without a call site
  std::vector<TemplateId> templates;  // in it that occur, ascending
  std::string text;                   // of the template: see SiteSurvey::name()
  LineSum sum;
  // Per rank; nullopt: of no known rank. Ascending, unknown first.
  std::vector<std::pair<std::optional<std::int32_t>, LineSum>> ranks;
  std::optional<MinMax<std::int64_t>> iteration;
  MinMax<UnixNanos> time;
  std::uint64_t cells = 0;              // (stream, iteration) in which it prints, about
  bool says_iteration = false;          // its lines state the iteration themselves
  Severity severity = Severity::unset;  // the worst
  BlockRef block;                       // that holds its first line
  std::uint64_t offset = 0;             // of that line
};

// Who prints how much.
class SiteSurvey final : public LineSink {
 public:
  static constexpr std::size_t kMaxCells = 2'000'000;  // (site, rank) pairs held; more: an Error

  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override;

  // Templates without a call site, with the place of their first line; ascending.
  struct Unnamed {
    TemplateId id = 0;
    BlockRef block;
    std::uint64_t offset = 0;
  };
  std::vector<Unnamed> unnamed() const;
  // Before finish(): templates of one group become one site.
  void regroup(const std::function<TemplateId(TemplateId)>& group_of);

  struct Answer {
    std::vector<Site> sites;  // those with the most bytes first
    LineSum total;
    LineSum other;  // of the sites beyond the limit
    std::uint64_t other_sites = 0;
    std::uint64_t cells = 0;       // (stream, iteration) with lines
    std::set<std::int32_t> ranks;  // of all lines
  };
  // Once, at the end; at most `limit` sites.
  Answer finish(std::size_t limit);

  // Sets the text of a site that is a template: as the shard knows it (slots as <*>), else the text
  // of the site's first line, cut at kMaxText bytes. Reads at most one block.
  static Status name(BlockingToken& token, JobView& view, Site& site);
  static constexpr std::size_t kMaxText = 300;

 private:
  using Cell = std::pair<std::size_t, std::int64_t>;  // stream, iteration
  struct Entry {
    LineSum sum;
    std::unordered_map<std::int64_t, LineSum> ranks;  // kNoRank: unknown
    std::optional<MinMax<std::int64_t>> iteration;
    MinMax<UnixNanos> time;
    BlockRef block;
    std::uint64_t offset = 0;
    std::vector<TemplateId> templates;
    Cell cell{SIZE_MAX, 0};  // of its last line
    std::uint64_t cells = 0;
    bool says_iteration = false;
    Severity severity = Severity::unset;
  };
  static constexpr std::int64_t kNoRank = INT64_MIN;

  Status add(Entry& entry, const Line& line, const StreamJoin& join, const BlockRef& block);
  static Site site_of(const Entry& entry);

  std::unordered_map<std::string, Entry> callsites_;
  std::unordered_map<TemplateId, Entry> templates_;
  std::size_t cells_ = 0;
  Cell cell_{SIZE_MAX, 0};  // of the last line
  std::uint64_t all_cells_ = 0;
};

}  // namespace logarithm::aggregator
