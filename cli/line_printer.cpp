#include "cli/line_printer.h"

#include <nlohmann/json.hpp>

namespace logarithm::cli {

bool LinePrinter::feed(std::string_view piece) {
  while (!stopped_) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      torn_ += piece;
      return true;
    }
    torn_ += piece.substr(0, end);
    piece.remove_prefix(end + 1);
    if (!torn_.empty() && !take(torn_)) stopped_ = true;
    torn_.clear();
  }
  return false;
}

bool LinePrinter::take(std::string_view record) {
  const auto json = nlohmann::json::parse(record, nullptr, false);
  if (!json.is_object()) {
    failure_ = Error(ErrorCode::corrupt, "the server sent a record that is not JSON");
    return false;
  }
  if (const auto end = json.find("end"); end != json.end() && end->is_object()) {
    ended_ = true;
    if (end->contains("next") && (*end)["next"].is_string()) next_ = (*end)["next"];
    const auto completeness = end->value("completeness", nlohmann::json::object());
    complete_ = completeness.is_object() && completeness.value("complete", false);
    if (completeness.contains("reasons") && completeness["reasons"].is_array()) {
      for (const auto& reason : completeness["reasons"]) {
        if (reason.is_string()) reasons_.push_back(reason.get<std::string>());
      }
    }
    return true;
  }
  if (const auto error = json.find("error"); error != json.end() && !json.contains("id")) {
    std::string detail = error->is_object() ? error->value("detail", "") : error->dump();
    failure_ = Error(ErrorCode::io, std::move(detail));
    return false;
  }
  ++lines_;
  if (output_ == Output::ndjson) return emit(std::string(record) + "\n");
  if (output_ == Output::raw) return emit(json.value("text", "") + "\n");
  if (folded_ == Fold::backward && !redraws_.keeps(json)) return true;
  if (folded_ != Fold::forward) return emit(line_text(json, style_) + "\n");
  for (const std::string& text : redraws_.next(json, line_text(json, style_))) {
    if (!emit(text + "\n")) return false;
  }
  return true;
}

bool LinePrinter::emit(std::string text) {
  if (!turned_) return print_(text);
  kept_.push_back(std::move(text));
  return true;
}

Status LinePrinter::finish() {
  for (const std::string& text : redraws_.rest()) {
    if (!stopped_ && !emit(text + "\n")) stopped_ = true;
  }
  for (auto line = kept_.rbegin(); line != kept_.rend() && !stopped_; ++line) {
    if (!print_(*line)) stopped_ = true;
  }
  kept_.clear();
  if (failure_) return *failure_;
  if (!ended_ && !stopped_) {
    return Error(ErrorCode::unavailable, "the answer ended before its last record");
  }
  return {};
}

void warn_incomplete(const LinePrinter& page) { warn_incomplete(page.complete(), page.reasons()); }

void warn_incomplete(bool complete, const std::vector<std::string>& reasons) {
  if (complete) return;
  std::string why;
  for (const std::string& reason : reasons) why += (why.empty() ? "" : "; ") + reason;
  std::fprintf(stderr, "logarithm: the answer is incomplete: %s\n",
               why.empty() ? "no reason given" : why.c_str());
}

}  // namespace logarithm::cli
