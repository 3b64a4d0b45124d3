#include "aggregator/http/compare_views.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "aggregator/http/views.h"
#include "common/base/utf8.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMaxPatterns = 50, kMaxGroups = 500;

// Three digits: a score is an order, not a measurement.
void write_score(JsonWriter& out, double score) {
  out.key("score").real(std::round(score * 1000) / 1000);
}

void write_iteration(JsonWriter& out, const std::optional<std::int64_t>& iteration) {
  out.key("iteration");
  iteration ? out.integer(*iteration) : out.null();
}

void write_text(JsonWriter& out, const std::string& text) {
  out.key("text").string(valid_utf8(text) ? text : sanitize_utf8(text));
}

void write_told(JsonWriter& out, const Told& told) {
  const Departure& departure = told.departure;
  out.begin_object().key("rank").integer(told.rank);
  write_iteration(out, told.iteration);
  out.key("kind").string(to_string(departure.kind));
  out.key("group").string(template_text_of(told.group));
  write_text(out, told.text);
  out.key("line");
  told.line_id.empty() ? out.null() : out.string(told.line_id);
  write_score(out, departure.score);
  out.key("count").count(departure.times);
  if (is_iteration(departure.last)) out.key("last_iteration").integer(departure.last);
  if (departure.ended) out.key("ended").boolean(true);
  if (told.lines > 1) out.key("lines").count(told.lines);
  out.optional_string("severity", to_string(told.severity));
  out.optional_time("time", told.time);
  if (departure.kind == DepartureKind::value) {
    out.key("key").string(told.key).key("value").real(departure.value);
    out.key("expected").real(departure.expected);
  }
  out.key("peers").string(compress(told.others));
  out.end_object();
}

void write_iterations(JsonWriter& out, const ConsensusPattern& pattern) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  if (pattern.outside) add("none");
  constexpr std::size_t kMaxRuns = 200;
  for (std::size_t i = 0; i < pattern.iterations.size(); ++i) {
    if (i == kMaxRuns) {
      add("…");
      break;
    }
    const auto& [first, last] = pattern.iterations[i];
    add(first == last ? std::to_string(first)
                      : std::to_string(first) + ".." + std::to_string(last));
  }
  out.key("iterations").string(text);
}

void write_line_of(JsonWriter& out, const char* name, const PairLine& line, std::int32_t rank) {
  out.key(name).begin_object();
  out.key("id").string(line.line_id).key("rank").integer(rank);
  out.key("time").time(line.time);
  out.optional_string("severity", to_string(line.severity));
  write_text(out, line.text);
  if (line.body.size() < line.text.size()) {
    out.key("body").string(valid_utf8(line.body) ? line.body : sanitize_utf8(line.body));
  }
  out.end_object();
}

double score_of(const PairRow& row, const PairLine& line) {
  if (row.kind == RowKind::value) return 0.7;
  return line.severity >= Severity::error ? 1.0 : line.severity == Severity::warning ? 0.9 : 0.8;
}

}  // namespace

std::string template_text_of(TemplateId id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

void write_consensus(JsonWriter& out, const Comparison& comparison) {
  out.key("ranks").string(compress(comparison.ranks));
  out.key("peers").begin_array();
  for (const auto& peers : comparison.peers) out.string(compress(peers));
  out.end_array();
  out.key("consensus").begin_object();
  out.key("groups").begin_array();
  for (std::size_t i = 0; i < comparison.groups.size() && i < kMaxGroups; ++i) {
    const ConsensusGroup& group = comparison.groups[i];
    std::set<std::int32_t> missing = comparison.ranks;
    for (const std::int32_t rank : group.ranks) missing.erase(rank);
    out.begin_object().key("group").string(template_text_of(group.group));
    write_text(out, group.text);
    out.key("lines").count(group.lines);
    out.key("ranks").string(compress(group.ranks)).key("missing").string(compress(missing));
    out.end_object();
  }
  out.end_array();
  out.key("iterations").begin_array();
  for (std::size_t i = 0; i < comparison.patterns.size() && i < kMaxPatterns; ++i) {
    const ConsensusPattern& pattern = comparison.patterns[i];
    out.begin_object();
    write_iterations(out, pattern);
    out.key("count").count(pattern.count);
    out.key("peers").string(compress(comparison.peers[pattern.peers]));
    out.key("groups").begin_array();
    for (const auto& [group, count] : pattern.groups) {
      for (std::uint32_t n = 0; n < std::min(count, 4u); ++n) out.string(template_text_of(group));
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  out.key("values").begin_array();
  for (const AgreedValue& value : comparison.values) {
    out.begin_object().key("key").string(value.key);
    out.key("iterations").count(value.iterations).end_object();
  }
  out.end_array();
}

void write_departures(JsonWriter& out, const Comparison& comparison) {
  out.key("first_divergence");
  if (comparison.first) {
    const Told& first = comparison.departures[*comparison.first];
    out.begin_object();
    write_iteration(out, first.iteration);
    out.key("rank").integer(first.rank).end_object();
  } else {
    out.null();
  }
  out.key("departures").begin_array();
  for (const Told& told : comparison.departures) write_told(out, told);
  out.end_array().key("other").count(comparison.more_departures);
}

void write_comparison(JsonWriter& out, const Comparison& comparison) {
  write_consensus(out, comparison);
  write_departures(out, comparison);
}

void write_first(JsonWriter& out, const Comparison& comparison,
                 const std::set<std::int32_t>& ranks) {
  out.key("ranks").string(compress(ranks));
  write_departures(out, comparison);
}

namespace {

class PairWriter {
 public:
  PairWriter(JsonWriter& out, const PairView& view) : out_(out), view_(view) {}

  void write() {
    write_first();
    write_departures();
    write_rows();
  }

 private:
  const PairRow& row(std::size_t i) const { return (*view_.rows)[i]; }
  const PairLine& line_of(const PairRow& row) const {
    return row.right ? (*view_.right)[*row.right] : (*view_.left)[*row.left];
  }

  void write_first() {
    out_.key("first_divergence");
    for (std::size_t i = 0; i < view_.rows->size(); ++i) {
      if (row(i).kind == RowKind::same) continue;
      out_.begin_object();
      write_iteration(out_, line_of(row(i)).iteration);
      out_.key("rank").integer(view_.ranks[1]).end_object();
      return;
    }
    out_.null();
  }

  // As seen from the first rank: the second one has more, less, or another value.
  void write_departures() {
    std::uint64_t count = 0;
    out_.key("departures").begin_array();
    for (std::size_t i = 0; i < view_.rows->size(); ++i) {
      const PairRow& now = row(i);
      if (now.kind == RowKind::same || ++count > view_.limit) continue;
      const PairLine& line = line_of(now);
      out_.begin_object().key("rank").integer(view_.ranks[1]);
      write_iteration(out_, line.iteration);
      const DepartureKind kind = now.kind == RowKind::value  ? DepartureKind::value
                                 : now.kind == RowKind::left ? DepartureKind::missing
                                                             : DepartureKind::extra;
      out_.key("kind").string(to_string(kind));
      out_.key("group").string(template_text_of(line.group));
      write_text(out_, line.text);
      out_.key("line").string(line.line_id);
      write_score(out_, score_of(now, line));
      out_.end_object();
    }
    out_.end_array();
    out_.key("other").count(count > view_.limit ? count - view_.limit : 0);
  }

  // Rows around differences; the others as a count.
  void write_rows() {
    std::vector<bool> shown(view_.rows->size(), false);
    for (std::size_t i = 0; i < view_.rows->size(); ++i) {
      if (row(i).kind == RowKind::same) continue;
      const std::size_t from = i - std::min(i, view_.context);
      const std::size_t to = std::min(view_.rows->size(), i + view_.context + 1);
      std::fill(shown.begin() + static_cast<std::ptrdiff_t>(from),
                shown.begin() + static_cast<std::ptrdiff_t>(to), true);
    }
    std::uint64_t same = 0, written = 0, left_out = 0;
    out_.key("rows").begin_array();
    for (std::size_t i = 0; i < view_.rows->size(); ++i) {
      if (!shown[i]) {
        ++same;
        continue;
      }
      if (written == view_.limit) {
        ++left_out;
        continue;
      }
      flush_same(same);
      write_row(row(i));
      ++written;
    }
    flush_same(same);
    out_.end_array().key("rows_left_out").count(left_out);
  }

  void flush_same(std::uint64_t& same) {
    if (same == 0) return;
    out_.begin_object().key("kind").string("same").key("count").count(same).end_object();
    same = 0;
  }

  void write_row(const PairRow& now) {
    const PairLine& line = line_of(now);
    out_.begin_object();
    write_iteration(out_, line.iteration);
    out_.key("kind").string(to_string(now.kind));
    out_.key("group").string(template_text_of(line.group));
    if (now.left) write_line_of(out_, "left", (*view_.left)[*now.left], view_.ranks[0]);
    if (now.right) write_line_of(out_, "right", (*view_.right)[*now.right], view_.ranks[1]);
    if (!now.differences.empty()) {
      out_.key("differences").begin_array();
      for (const ValueDifference& difference : now.differences) {
        out_.begin_object();
        out_.key("left").string(sanitize_utf8(difference.left));
        out_.key("right").string(sanitize_utf8(difference.right));
        out_.end_object();
      }
      out_.end_array();
    }
    out_.end_object();
  }

  JsonWriter& out_;
  const PairView& view_;
};

}  // namespace

void write_pair(JsonWriter& out, const PairView& view) { PairWriter(out, view).write(); }

}  // namespace logarithm::aggregator
