#include "cli/tail_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

bool has_flag(const Json& line, const char* flag) {
  const auto flags = line.find("flags");
  return flags != line.end() && flags->is_array() &&
         std::find(flags->begin(), flags->end(), flag) != flags->end();
}

std::string stream_of(const Json& line) {
  const std::string id = line.value("id", "");
  return id.substr(0, id.rfind(':'));
}

std::string bar_text(const Json& line) {
  std::string out;
  const auto rank = line.find("rank");
  if (rank != line.end() && rank->is_number()) out = "r" + rank->dump() + " ";
  return out + visible(line.value("text", ""));
}

// About: what terminals draw over two columns.
bool is_wide(std::uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

}  // namespace

std::string fit_columns(std::string_view text, std::size_t columns) {
  std::size_t used = 0, at = 0;
  while (at < text.size()) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t size = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    std::uint32_t code = size == 1 ? first : first & (0x7Fu >> size);
    for (std::size_t i = 1; i < size && at + i < text.size(); ++i) {
      code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
    }
    std::size_t width = is_wide(code) ? 2 : 1;
    if (first == '\t') width = 8;  // at most
    if (used + width > columns) break;
    used += width;
    at = std::min(at + size, text.size());
  }
  return std::string(text.substr(0, at));
}

void TailView::add(std::string_view line) {
  if (output_ == Output::ndjson) {
    ready_.append(line).push_back('\n');
    return;
  }
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return;
  const std::string stream = stream_of(json);
  const auto open = find(stream);
  std::string body = json.value("text", "");
  const bool glued = has_flag(json, "glued"), joined = glued && open != bars_.end();
  if (joined) body = open->body + body;
  json["text"] = body;
  const std::string text = output_ == Output::raw ? body : line_text(json, style_);
  const bool redrawn = has_flag(json, "progress"),
             was_redrawn = open != bars_.end() && open->redrawn;
  // A line without its end: on a terminal it stands where it will go on. Elsewhere it is given at
  // once (it may be somebody's last words), but in the middle of a bar, which is written like that.
  if (redrawn || (has_flag(json, "partial") && (size_ || was_redrawn))) {
    hold(Bar{stream, body, text, bar_text(json), redrawn || was_redrawn});
    return;
  }
  if (joined) {
    bars_.erase(open);
  } else {
    settle(open);
    if (glued && body.empty()) return;  // the end of what was given before
  }
  ready_ += text + "\n";
}

TailView::Bars::iterator TailView::find(const std::string& stream) {
  return std::find_if(bars_.begin(), bars_.end(),
                      [&](const Bar& bar) { return bar.stream == stream; });
}

// The run of redraws of this stream is over.
void TailView::settle(Bars::iterator bar) {
  if (bar == bars_.end()) return;
  if (!bar->body.empty()) ready_ += bar->text + "\n";
  bars_.erase(bar);
}

void TailView::hold(Bar bar) {
  const auto same = find(bar.stream);
  if (same != bars_.end()) {
    *same = std::move(bar);
    std::rotate(same, same + 1, bars_.end());
    return;
  }
  if (bars_.size() == kMostBars) settle(bars_.begin());
  bars_.push_back(std::move(bar));
}

std::string TailView::draw() {
  std::string out;
  if (!size_) {
    out.swap(ready_);
    return out;
  }
  if (drawn_ > 0) out = "\033[" + std::to_string(drawn_) + "A\r\033[J";
  out += ready_;
  ready_.clear();
  const ScreenSize size = size_();
  const std::size_t room = std::max<std::size_t>(size.rows / 2, 1);
  std::vector<const Bar*> shown;
  for (auto bar = bars_.rbegin(); bar != bars_.rend() && shown.size() < room; ++bar) {
    if (!bar->body.empty()) shown.push_back(&*bar);
  }
  drawn_ = shown.size();
  // Each bar keeps its place: the order of changes would make them jump.
  std::sort(shown.begin(), shown.end(),
            [](const Bar* a, const Bar* b) { return a->stream < b->stream; });
  for (const Bar* bar : shown) {
    out += fit_columns(bar->short_text, size.columns > 1 ? size.columns - 1 : 1) + "\n";
  }
  return out;
}

std::string TailView::finish() {
  // On a terminal they stand there already.
  if (size_) return draw();
  while (!bars_.empty()) settle(bars_.begin());
  return draw();
}

}  // namespace logarithm::cli
