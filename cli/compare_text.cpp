#include "cli/compare_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/answer.h"
#include "cli/table.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

const Json& array_of(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::string span_of(const Json& departure) {
  const std::string first = member(departure, "iteration"),
                    last = member(departure, "last_iteration");
  const std::string count = member(departure, "count");
  if (first == "-" || first == "null") return "-";
  if (last == "-" || last == first) return first;
  return first + "-" + last + " (" + count + ")";
}

std::string what_of(const Json& departure) {
  std::string text = member(departure, "text");
  if (member(departure, "kind") == "value" && departure.contains("key")) {
    return member(departure, "key") + " " + member(departure, "value") + ", peers " +
           member(departure, "expected") + "  " + text;
  }
  if (departure.contains("ended")) text = "(nothing more) " + text;
  return text;
}

// About `width` columns of UTF-8: cut at a character, with an ellipsis, or filled up.
std::string fit(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && used == width) {
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80)
        out.pop_back();
      if (!out.empty()) out.pop_back();
      return out + "…";
    }
    if (begins) ++used;
    out.push_back(text[at]);
  }
  out.append(width - used, ' ');
  return out;
}

std::string side_text(const Json& row, const char* side) {
  const auto found = row.find(side);
  if (found == row.end() || !found->is_object()) return "";
  // Beside each other there is no room for what both begin with.
  return member(*found, found->contains("body") ? "body" : "text");
}

// Where both begin alike for longer than there is room, both begin shortly before they differ.
void show_difference(std::string& left, std::string& right, std::size_t width) {
  constexpr std::size_t kBefore = 12;
  const std::size_t most = std::min(left.size(), right.size());
  std::size_t same = 0;
  while (same < most && left[same] == right[same]) ++same;
  if (same + kBefore < width) return;
  std::size_t begin = same - std::min(same, kBefore);
  while (begin > 0 && (static_cast<unsigned char>(left[begin]) & 0xC0) == 0x80) --begin;
  if (begin == 0) return;
  left = "…" + left.substr(begin);
  right = "…" + right.substr(begin);
}

char sign_of(const std::string& kind) {
  if (kind == "left") return '<';
  if (kind == "right") return '>';
  return kind == "value" ? '|' : ' ';
}

}  // namespace

std::string departures_text(const Json& answer) {
  const Json& departures = array_of(answer, "departures");
  if (departures.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"SCORE", "RANK", "ITERATION", "KIND", "WHAT"});
  for (const Json& departure : departures) {
    if (!departure.is_object()) continue;
    rows.push_back({member(departure, "score"), member(departure, "rank"), span_of(departure),
                    member(departure, "kind"), what_of(departure)});
  }
  return table(rows, {0, 1});
}

std::string pair_text(const Json& answer, std::size_t columns) {
  const std::size_t half = (std::max<std::size_t>(columns, 60) - 13) / 2;
  std::string out;
  for (const Json& row : array_of(answer, "rows")) {
    if (!row.is_object()) continue;
    const std::string kind = member(row, "kind");
    if (row.contains("count")) {
      out += "  ... " + member(row, "count") + " rows the same\n";
      continue;
    }
    std::string iteration = member(row, "iteration");
    if (iteration == "null") iteration = "-";
    std::string left = side_text(row, "left"), right = side_text(row, "right");
    if (kind == "value") show_difference(left, right, half);
    out += fit(iteration, 8) + " " + fit(left, half) + " " + sign_of(kind) + " " + fit(right, half);
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += "\n";
  }
  return out;
}

std::string consensus_text(const Json& answer) {
  const auto consensus = answer.find("consensus");
  if (consensus == answer.end()) return "";
  std::vector<std::vector<std::string>> groups;
  groups.push_back({"LINES", "RANKS", "GROUP", "TEXT"});
  for (const Json& group : array_of(*consensus, "groups")) {
    const std::string missing = member(group, "missing");
    groups.push_back({member(group, "lines"),
                      member(group, "ranks") +
                          (missing.empty() || missing == "-" ? "" : " (not " + missing + ")"),
                      member(group, "group"), member(group, "text")});
  }
  std::string out = table(groups, {0}) + "\n";
  std::vector<std::vector<std::string>> patterns;
  patterns.push_back({"COUNT", "RANKS", "LINES", "ITERATIONS"});
  for (const Json& pattern : array_of(*consensus, "iterations")) {
    patterns.push_back({member(pattern, "count"), member(pattern, "peers"),
                        std::to_string(array_of(pattern, "groups").size()),
                        member(pattern, "iterations")});
  }
  return out + table(patterns, {0, 2}) + "\n";
}

std::string raw_row(const Json& row) {
  std::string out = member(row, "iteration") + "\t" + member(row, "kind");
  if (row.contains("left") || row.contains("right")) {
    return out + "\t" + side_text(row, "left") + "\t" + side_text(row, "right");
  }
  if (row.contains("rank")) return out + "\t" + member(row, "rank") + "\t" + member(row, "text");
  return out + "\t" + member(row, "count");
}

std::string compare_summary(const Json& answer) {
  std::string out = "logarithm: ranks " + member(answer, "ranks");
  const auto first = answer.find("first_divergence");
  if (first == answer.end() || !first->is_object()) return out + ": no departures";
  const auto where = [](const Json& departure) {
    const std::string iteration = member(departure, "iteration");
    const bool known = iteration != "null" && iteration != "-";
    return "rank " + member(departure, "rank") + (known ? ", at iteration " + iteration : "");
  };
  // The first to depart may do so harmlessly, or together with others: the most unusual is named.
  const Json& departures = array_of(answer, "departures");
  const std::string most = departures.empty() ? "" : where(departures.front());
  if (most.empty() || most == where(*first)) {
    out += ": " + where(*first) + ", departs first";
  } else {
    out += ": " + most + ", departs most; the first departure is " + where(*first);
  }
  const double other = number_member(answer, "other");
  if (other > 0) out += "; " + member(answer, "other") + " more not shown";
  return out;
}

}  // namespace logarithm::cli
