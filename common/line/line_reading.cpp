#include "common/line/line_reading.h"

#include <algorithm>

#include "common/line/wrappers/cursor.h"

namespace logarithm {
namespace {

constexpr std::size_t kMostProbes = 24, kMostDigits = 24;

bool same(const PrintedTime& a, const PrintedTime& b) {
  return a.year == b.year && a.month == b.month && a.day == b.day && a.hour == b.hour &&
         a.minute == b.minute && a.second == b.second && a.nanos == b.nanos &&
         a.utc_offset_minutes == b.utc_offset_minutes && a.instant == b.instant &&
         a.uptime == b.uptime && a.impossible == b.impossible;
}

// False when no time can be read at the probe's place, whatever digits stand there: each form has
// `5:0`, or six digits in a row, within its 40 bytes; what begins with a letter is a month or a day
// of the week, or one letter of glog's.
bool might_be_time(std::string_view text, const TimeProbe& probe) {
  using Reader = TimeProbe::Reader;
  const std::size_t at = probe.at;
  const auto digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  const bool stamp = probe.reader == Reader::stamp || probe.reader == Reader::short_stamp;
  if (stamp && !digit(at + 1)) return false;
  if (!stamp && !digit(at)) {
    constexpr std::string_view kNames =
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun";
    if (at + 3 > text.size() || kNames.find(text.substr(at, 3)) == std::string_view::npos) {
      return false;
    }
  }
  const std::size_t end = std::min(text.size(), at + 64);
  std::size_t run = 0;
  for (std::size_t i = at; i < end; ++i) {
    if (digit(i)) {
      if (++run == 6) return true;
      continue;
    }
    if (run > 0 && text[i] == ':' && digit(i + 1)) return true;
    run = 0;
  }
  return false;
}

}  // namespace

std::optional<LineReading> LineReading::make(std::string_view line, const UnwrapMode& mode,
                                             const KnownHosts& hosts) {
  LineReading out;
  if (line.size() > kLongest) return std::nullopt;
  Wrapped wrapped;
  KnownHosts learned = hosts;
  DigitTrace bare(line);
  out.repeats_ = trace_unwrap(line, mode, learned, wrapped, out.steps_);
  out.wrapped_ = static_cast<std::uint16_t>(wrapped.size);
  const auto rest = line.substr(wrapped.size);
  if (!rest.empty() && wrappers::is_word(rest[0])) {
    wrappers::Layer layer;
    bool strong = false;
    if (wrappers::read_host_prefix(rest, layer, strong)) {
      out.host_size_ = static_cast<std::uint16_t>(layer.writer.size());
    }
  }
  DigitTrace behind(line);
  const auto header = parse_header(rest);
  for (const DigitTrace* trace : {&bare, &behind}) {
    // Wrappers that are there are read anew in each line.
    const bool found_anew = trace == &bare && wrapped.size > 0;
    if (trace->blind()) return std::nullopt;
    for (const DigitTrace::Reading& reading : trace->readings()) {
      const TimeProbe& probe = reading.probe;
      const bool needed = probe.traits != 0
                              ? !found_anew
                              : might_be_time(line.substr(probe.begin, probe.size), probe);
      const bool known =
          std::find(out.probes_.begin(), out.probes_.end(), probe) != out.probes_.end();
      if (needed && !known) out.probes_.push_back(probe);
    }
    for (const std::uint16_t place : trace->places()) {
      if (found_anew && place < wrapped.size) continue;
      out.digits_.emplace_back(place, line[place]);
    }
  }
  if (out.probes_.size() > kMostProbes || out.digits_.size() > kMostDigits) return std::nullopt;
  if (header && !out.take_header(line, *header, behind)) return std::nullopt;
  return out;
}

bool LineReading::take_header(std::string_view line, const LogHeader& header,
                              const DigitTrace& trace) {
  bool inside = true;
  const auto span = [&](std::string_view part) -> Span {
    if (part.empty()) return {};
    inside = inside && part.data() >= line.data() &&
             part.data() + part.size() <= line.data() + line.size();
    if (!inside) return {};
    return {static_cast<std::uint16_t>(part.data() - line.data()),
            static_cast<std::uint16_t>(part.size())};
  };
  has_header_ = true;
  report_row_ = header.report_row;
  header_size_ = static_cast<std::uint16_t>(header.size);
  severity_ = header.severity;
  level_ = span(header.level);
  file_ = span(header.file);
  file_line_ = span(header.file_line);
  for (std::size_t i = 0; i < header.field_count; ++i) {
    const LogHeader::Field& field = header.fields[i];
    fields_.push_back({field.key, span(field.value), field.kind});
  }
  return inside && (!header.time || take_time(*header.time, trace));
}

// Finds where the header's time was read. Not where that could have been in two places.
bool LineReading::take_time(const PrintedTime& time, const DigitTrace& trace) {
  const TimeProbe* from = nullptr;
  for (const DigitTrace::Reading& reading : trace.readings()) {
    const TimeProbe& probe = reading.probe;
    if (probe.traits == 0 || !same(reading.time, time)) continue;
    if (from != nullptr && (from->begin + from->at != probe.begin + probe.at ||
                            from->begin + from->end != probe.begin + probe.end)) {
      return false;
    }
    if (from == nullptr) from = &probe;
  }
  if (from == nullptr) return false;
  const auto place = std::find(probes_.begin(), probes_.end(), *from);
  time_from_ = static_cast<std::uint8_t>(place - probes_.begin());
  return true;
}

bool LineReading::read(std::string_view line, LogHeader& header) const {
  for (const auto& [place, digit] : digits_) {
    if (line[place] != digit) return false;
  }
  header.time.reset();
  PrintedTime time;
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    if (!probes_[i].holds(line, time)) return false;
    if (i == time_from_) header.time = time;
  }
  if (!has_header_) return true;
  header.size = header_size_;
  header.severity = severity_;
  header.level = level_.of(line);
  header.file = file_.of(line);
  header.file_line = file_line_.of(line);
  header.report_row = report_row_;
  header.field_count = fields_.size();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    header.fields[i] = {fields_[i].key, fields_[i].value.of(line), fields_[i].kind};
  }
  return true;
}

}  // namespace logarithm
