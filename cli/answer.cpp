#include "cli/answer.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/line_printer.h"
#include "cli/line_text.h"

namespace logarithm::cli {

Result<nlohmann::json> parse_answer(const std::string& body, const char* name) {
  nlohmann::json answer = nlohmann::json::parse(body, nullptr, false);
  if (answer.is_object()) {
    const auto found = answer.find(name);
    if (found != answer.end() && found->is_array()) return answer;
  }
  return Error(ErrorCode::corrupt, std::string("the server's answer has no ") + name);
}

std::string ndjson_record(const nlohmann::json& object) {
  const std::string text = object.dump();
  std::string out;
  out.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with("\xC2\x85")) {
      out += "\\u0085";
      i += 2;
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 3;
    } else {
      out.push_back(text[i++]);
    }
  }
  out.push_back('\n');
  return out;
}

void warn_incomplete(const nlohmann::json& answer) {
  const auto found = answer.find("completeness");
  if (found == answer.end() || !found->is_object()) return;
  std::vector<std::string> reasons;
  if (const auto listed = found->find("reasons"); listed != found->end() && listed->is_array()) {
    for (const auto& reason : *listed) {
      if (reason.is_string()) reasons.push_back(visible(reason.get<std::string>()));
    }
  }
  const auto complete = found->find("complete");
  warn_incomplete(complete != found->end() && *complete == true, reasons);
}

std::string member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  return found->is_string() ? visible(found->get<std::string>()) : found->dump();
}

double number_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::numeric_limits<double>::quiet_NaN();
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return std::numeric_limits<double>::quiet_NaN();
  const std::string text = found->get<std::string>();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::numeric_limits<double>::quiet_NaN() : value;
}

Result<std::vector<std::string>> bind_job(FileOptions& files, std::vector<std::string> words,
                                          std::string& job) {
  std::erase(words, "");
  LGR_CHECK(files.check());
  LGR_CHECK(split_files(files.files, words, file_exists));
  if (files.used()) return words;
  if (words.empty()) return Error(ErrorCode::invalid, "JOB is needed, or --files");
  job = words.front();
  words.erase(words.begin());
  return words;
}

}  // namespace logarithm::cli
