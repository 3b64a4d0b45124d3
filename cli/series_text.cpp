#include "cli/series_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "cli/answer.h"
#include "cli/plot.h"
#include "cli/table.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

// Calls each(series, bucket) in the answer's order; points without an iteration are the last bucket
// of their series.
template <typename Each>
void each_bucket(const Json& answer, Each&& each) {
  for (const Json& series : answer.at("series")) {
    if (!series.is_object()) continue;
    const auto buckets = series.find("buckets");
    if (buckets != series.end() && buckets->is_array()) {
      for (const Json& bucket : *buckets) {
        if (bucket.is_object()) each(series, bucket);
      }
    }
    const auto apart = series.find("without_iteration");
    if (apart != series.end() && apart->is_object()) each(series, *apart);
  }
}

// "60", or "60-69" when a bucket is ten iterations.
std::string iterations_of(const Json& answer, const Json& bucket) {
  const std::string first = member(bucket, "iteration");
  const auto step = answer.find("step");
  if (step == answer.end() || !step->is_number_integer() || *step == 1 || first == "-") {
    return first;
  }
  const auto start = bucket.find("iteration");
  if (!start->is_number_integer()) return first;
  return first + "-" + std::to_string(start->get<std::int64_t>() + step->get<std::int64_t>() - 1);
}

std::string shown_number(const Json& bucket, const char* name) {
  const auto found = bucket.find(name);
  return found == bucket.end() ? "-" : short_number(number_member(bucket, name));
}

std::string name_of(const Json& series, bool with_metric) {
  std::string out;
  if (with_metric) out += member(series, "metric") + " ";
  const std::string attempt = member(series, "attempt"), rank = member(series, "rank");
  if (attempt != "-") out += "attempt " + attempt + " ";
  out += rank != "-" ? "rank " + rank : "stream " + member(series, "stream_id");
  return out;
}

bool has_several(const Json& answer, const char* name) {
  std::set<std::string> seen;
  for (const Json& series : answer.at("series")) {
    if (series.is_object()) seen.insert(member(series, name));
  }
  return seen.size() > 1;
}

// Attempts as numbers ascend.
std::vector<std::string> in_order(const std::map<std::string, std::vector<PlotLine>>& attempts) {
  std::vector<std::string> out;
  for (const auto& [attempt, lines] : attempts) out.push_back(attempt);
  std::sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return out;
}

}  // namespace

std::string series_table(const Json& answer) {
  const bool metrics = has_several(answer, "metric");
  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {"ATTEMPT", "RANK", "ITERATION", "POINTS", "NAN", "MIN", "MEAN", "MAX", "LAST", "METRIC"});
  each_bucket(answer, [&](const Json& series, const Json& bucket) {
    rows.push_back({member(series, "attempt"), member(series, "rank"),
                    iterations_of(answer, bucket), member(bucket, "count"), member(bucket, "nan"),
                    shown_number(bucket, "min"), shown_number(bucket, "mean"),
                    shown_number(bucket, "max"), shown_number(bucket, "last"),
                    member(series, "metric")});
  });
  if (!metrics) {
    for (auto& row : rows) row.pop_back();
  }
  return table(rows, {0, 1, 2, 3, 4, 5, 6, 7, 8});
}

std::string series_plot(const Json& answer, std::size_t columns) {
  const bool metrics = has_several(answer, "metric");
  // An attempt counts its iterations anew: each has a drawing of its own.
  std::map<std::string, std::vector<PlotLine>> attempts;
  const Json* before = nullptr;
  std::uint64_t apart = 0;
  each_bucket(answer, [&](const Json& series, const Json& bucket) {
    if (!bucket.contains("iteration")) {
      const double count = number_member(bucket, "count");  // NaN when there is none
      if (count > 0 && count < 1e18) apart += static_cast<std::uint64_t>(count);
      return;
    }
    std::vector<PlotLine>& lines = attempts[member(series, "attempt")];
    if (&series != before) lines.emplace_back();
    before = &series;
    lines.back().push_back({number_member(bucket, "iteration"), number_member(bucket, "mean")});
  });
  const std::string step = member(answer, "step");
  std::set<std::string> names;
  for (const Json& series : answer.at("series")) {
    if (series.is_object()) names.insert(member(series, "metric"));
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  out += ": mean of " + (step == "1" ? "each iteration" : "every " + step + " iterations") + ", " +
         std::to_string(answer.at("series").size()) + " series\n";
  bool any = false;
  for (const std::string& attempt : in_order(attempts)) {
    const std::vector<PlotLine>& lines = attempts[attempt];
    const std::string drawn = plot(lines, {columns, 15});
    any = any || !drawn.empty();
    if (!drawn.empty() && attempts.size() > 1) {
      out += (attempt == "-" ? "no attempt" : "attempt " + attempt) + ", " +
             std::to_string(lines.size()) + " series:\n";
    }
    out += drawn;
  }
  if (!any) out += "no points with an iteration\n";
  std::size_t shown = 0;
  for (const Json& series : answer.at("series")) {
    if (!series.is_object()) continue;
    const double nan = number_member(series, "nan");
    if (!(nan > 0) || ++shown > 20) continue;
    out += "NaN: " + name_of(series, metrics);
    const std::string first = member(series, "first_nan");
    if (first != "-") out += " from iteration " + first + " on";
    out += ", " + short_number(nan) + " of " + member(series, "count") + " points\n";
  }
  if (shown > 20) out += "NaN: " + std::to_string(shown - 20) + " more series\n";
  if (apart > 0) out += std::to_string(apart) + " points without an iteration are not shown\n";
  return out;
}

std::string series_ndjson(const Json& answer) {
  std::string out;
  each_bucket(answer, [&](const Json& series, const Json& bucket) {
    Json record = bucket;
    for (const char* name : {"metric", "attempt", "rank", "stream_id"}) {
      if (const auto found = series.find(name); found != series.end()) record[name] = *found;
    }
    out += ndjson_record(record);
  });
  return out;
}

std::string series_raw(const Json& answer) {
  std::string out;
  each_bucket(answer, [&](const Json& series, const Json& bucket) {
    out += member(series, "attempt") + "\t" + member(series, "rank");
    for (const char* name : {"iteration", "count", "min", "mean", "max", "last"}) {
      out += "\t" + member(bucket, name);
    }
    out += "\n";
  });
  return out;
}

}  // namespace logarithm::cli
