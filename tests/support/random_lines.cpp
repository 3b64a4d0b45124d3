#include "tests/support/random_lines.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "common/line/template.h"

namespace logarithm::test {
namespace {

std::string clock_text(UnixNanos time) {
  const auto seconds = static_cast<std::uint64_t>(time / 1'000'000'000);
  const auto micros = static_cast<std::uint64_t>(time % 1'000'000'000 / 1000);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "I1130 %02u:%02u:%02u.%06u %u train.cpp:%u] ",
                static_cast<unsigned>(seconds / 3600 % 24),
                static_cast<unsigned>(seconds / 60 % 60), static_cast<unsigned>(seconds % 60),
                static_cast<unsigned>(micros), static_cast<unsigned>(1000 + seconds % 3),
                static_cast<unsigned>(seconds % 7));
  return text.data();
}

bool same(const MetaValue& a, const MetaValue& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
}

bool same(const std::vector<MetaPair>& a, const std::vector<MetaPair>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].key != b[i].key || a[i].point != b[i].point || !same(a[i].value, b[i].value)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string RandomLines::bytes(std::size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(below(256));
  return out;
}

std::int64_t RandomLines::number() {
  switch (below(6)) {
    case 0: return std::numeric_limits<std::int64_t>::min();
    case 1: return std::numeric_limits<std::int64_t>::max();
    case 2: return static_cast<std::int64_t>(random_());
    default: return static_cast<std::int64_t>(below(1000)) - 100;
  }
}

MetaPair RandomLines::pair() {
  static const std::array<const char*, 5> keys = {"loss", "step", "grad_norm", "", "k\xFF"};
  MetaPair out;
  out.key = below(20) == 0 ? bytes(below(4)) : keys[below(keys.size())];
  out.point = below(3) == 0;
  switch (below(7)) {
    case 0: out.value = std::numeric_limits<double>::quiet_NaN(); break;
    case 1: out.value = std::bit_cast<double>(0xFFF8000000000000ull | below(1u << 20)); break;
    case 2: out.value = below(2) == 0 ? HUGE_VAL : -HUGE_VAL; break;
    case 3: out.value = std::bit_cast<double>(random_()); break;
    case 4: out.value = bytes(below(12)); break;
    case 5: out.value = std::string(below(2) == 0 ? "ok" : "bad"); break;
    default: out.value = number(); break;
  }
  return out;
}

Line RandomLines::logger_line() {
  Line line;
  const std::string prefix = below(2) == 0 ? "[rank" + std::to_string(below(4)) + "]:" : "";
  const std::string header = below(5) == 0 ? "" : clock_text(clock_);
  static const std::array<const char*, 3> words = {"step", "host003 iteration", "Xid\t(PCI)"};
  std::string body = words[below(words.size())];
  for (std::uint64_t n = below(3); n > 0; --n) {
    body += " loss=" + std::to_string(below(3) == 0 ? below(5) : random_());
    if (below(4) == 0) body += ".0" + std::to_string(below(100)) + "e";
  }
  line.raw = prefix + header + body;
  line.text_begin = below(4) == 0 ? static_cast<std::uint32_t>(prefix.size() / 2) : 0;
  line.header_begin = static_cast<std::uint32_t>(prefix.size());
  line.body_begin = static_cast<std::uint32_t>(prefix.size() + header.size());
  line.template_id = template_of(body);
  return line;
}

Line RandomLines::any_line() {
  Line line;
  line.raw = bytes(below(below(10) == 0 ? 2000 : 40));
  const auto size = static_cast<std::uint32_t>(line.raw.size() + 1);
  line.text_begin = static_cast<std::uint32_t>(below(size));
  line.header_begin = line.text_begin + static_cast<std::uint32_t>(below(size - line.text_begin));
  line.body_begin = line.header_begin + static_cast<std::uint32_t>(below(size - line.header_begin));
  line.flags = static_cast<std::uint32_t>(below(1u << 14));
  line.transport = below(4) == 0 ? static_cast<std::uint8_t>(below(256)) : 0;
  line.template_id = below(3) == 0 ? random_() : template_of(body_of(line));
  return line;
}

void RandomLines::decorate(Line& line) {
  line.terminator = below(4) == 0 ? static_cast<Terminator>(below(4)) : Terminator::lf;
  line.offset = offset_ + (below(20) == 0 ? below(1000) : 0);
  line.length = line.raw.size() + bytes_of(line.terminator).size();
  if (below(20) == 0) line.length += below(1u << 20);
  if (line.length == 0) line.length = 1;
  offset_ = line.end();
  if (below(3) != 0) head_ = line.offset;
  line.head = head_;
  line.output = below(3) == 0 ? static_cast<Output>(below(3)) : Output::unset;
  clock_ += static_cast<UnixNanos>(below(3) * 1'000'000'000 + below(1000) * 1000);
  line.time = below(50) == 0 ? number() : clock_;
  line.observed = below(50) == 0 ? number() : clock_ + 5'000'000;
  line.severity = static_cast<Severity>(below(7));
  if (below(2) == 0) line.callsite = "train.py:" + std::to_string(below(5));
  if (below(4) == 0) line.wrapper_rank = static_cast<std::int32_t>(random_());
  if (below(2) == 0) line.iteration = number();
  for (std::uint64_t n = below(2) * below(5); n > 0; --n) line.meta.push_back(pair());
  for (std::uint64_t n = below(10) == 0 ? below(3) : 0; n > 0; --n) {
    line.events.push_back({"rule" + std::to_string(below(3)), "xid", below(2) == 0 ? "root" : ""});
  }
  for (std::uint64_t n = below(20) == 0 ? below(4) : 0; n > 0; --n) {
    line.extents.push_back({line.offset + below(100), static_cast<std::uint32_t>(random_()),
                            static_cast<std::uint32_t>(random_())});
  }
}

std::vector<Line> RandomLines::make(std::size_t count) {
  std::vector<Line> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(below(3) == 0 ? any_line() : logger_line());
    decorate(out.back());
  }
  return out;
}

std::string difference(const Line& a, const Line& b) {
  if (a.offset != b.offset) return "offset";
  if (a.length != b.length) return "length";
  if (a.raw != b.raw) return "raw";
  if (a.terminator != b.terminator) return "terminator";
  if (a.output != b.output) return "output";
  if (a.transport != b.transport) return "transport";
  if (a.flags != b.flags) return "flags";
  if (a.text_begin != b.text_begin) return "text_begin";
  if (a.header_begin != b.header_begin) return "header_begin";
  if (a.body_begin != b.body_begin) return "body_begin";
  if (a.head != b.head) return "head";
  if (a.time != b.time) return "time";
  if (a.observed != b.observed) return "observed";
  if (a.severity != b.severity) return "severity";
  if (a.callsite != b.callsite) return "callsite";
  if (a.template_id != b.template_id) return "template_id";
  if (a.wrapper_rank != b.wrapper_rank) return "wrapper_rank";
  if (a.iteration != b.iteration) return "iteration";
  if (!same(a.meta, b.meta)) return "meta";
  if (a.events != b.events) return "events";
  if (a.extents != b.extents) return "extents";
  return {};
}

}  // namespace logarithm::test
