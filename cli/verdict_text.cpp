#include "cli/verdict_text.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/answer.h"
#include "cli/table.h"
#include "common/model/failure_order.h"

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kRowsShown = 20;

const Json& array_of(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::string ranks_of(const Json& first) {
  std::string out;
  std::size_t shown = 0;
  for (const Json& rank : array_of(first, "ranks")) {
    if (++shown > kRowsShown) return out + ",…";
    if (!out.empty()) out += ",";
    out += rank.dump();
  }
  return out;
}

std::string order_of(const Json& first) {
  const double margin = number_member(first, "margin_ms"), error = number_member(first, "error_ms");
  const auto certain = first.find("certain");
  const bool sure = certain != first.end() && *certain == true;
  if (std::isnan(margin)) return failure_order(sure, std::nullopt, std::nullopt);
  return failure_order(sure, margin, error);
}

void add_first(const Json& answer, std::vector<std::vector<std::string>>& rows) {
  const auto first = answer.find("first");
  if (first == answer.end() || !first->is_object()) return;
  std::string where = "rank " + ranks_of(*first);
  if (first->contains("host")) where += " on " + member(*first, "host");
  if (first->contains("iteration")) where += ", iteration " + member(*first, "iteration");
  rows.push_back({"first", where});
  if (first->contains("time")) rows.push_back({"time", member(*first, "time")});
  rows.push_back({"order", order_of(*first)});
}

// "rank 2 (3.1 ms)", one a row of an array.
void add_list(const Json& answer, const char* name, const char* title, const char* detail,
              const char* unit, std::vector<std::vector<std::string>>& rows) {
  std::size_t shown = 0;
  for (const Json& row : array_of(answer, name)) {
    if (!row.is_object()) continue;
    if (++shown > kRowsShown) {
      rows.push_back({"", "… and more"});
      return;
    }
    rows.push_back({title, "rank " + member(row, "rank") + ", " + member(row, detail) + unit});
  }
}

std::string heading(const Json& answer) {
  std::string out = "job " + member(answer, "job") + ", attempt " + member(answer, "attempt") +
                    ": " + member(answer, "verdict");
  if (member(answer, "kind") != member(answer, "verdict")) out += ", " + member(answer, "kind");
  return out + "\n" + member(answer, "summary") + "\n";
}

std::string evidence_of(const Json& answer, const std::string& context) {
  std::string out;
  for (const Json& row : array_of(answer, "evidence")) {
    if (!row.is_object()) continue;
    if (out.empty()) out = "\n";
    out += member(row, "class") + " (" + member(row, "confidence") + "): " + member(row, "claim") +
           "\n";
    if (row.contains("text")) out += "    " + member(row, "text") + "\n";
    std::string ids;
    for (const Json& id : array_of(row, "lines")) {
      if (id.is_string()) ids += " " + id.get<std::string>();
    }
    if (!ids.empty()) out += "    " + context + ids.substr(0, ids.find(' ', 1)) + "\n";
  }
  return out;
}

}  // namespace

std::string verdict_text(const Json& answer, const std::string& context) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"phase", member(answer, "phase")});
  add_first(answer, rows);
  const auto cascade = answer.find("cascade");
  if (cascade != answer.end() && cascade->is_object() && number_member(*cascade, "count") > 0) {
    rows.push_back({"cascade", member(*cascade, "count") + " ranks: " + member(*cascade, "ranks")});
  }
  add_list(answer, "silent", "silent", "since", "", rows);
  add_list(answer, "stragglers", "straggler", "late_ms", " ms late", rows);
  std::size_t shown = 0;
  for (const Json& row : array_of(answer, "hardware")) {
    if (!row.is_object() || ++shown > kRowsShown) continue;
    std::string text = member(row, "kind") + " " + member(row, "time");
    for (const char* name : {"host", "device", "code", "rank"}) {
      if (row.contains(name)) text += std::string(" ") + name + " " + member(row, name);
    }
    rows.push_back({"hardware", text});
  }
  add_list(answer, "not_captured", "missing", "why", "", rows);
  return heading(answer) + "\n" + table(rows, {}) + evidence_of(answer, context);
}

}  // namespace logarithm::cli
