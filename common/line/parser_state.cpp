#include "common/line/parser_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace logarithm {
namespace {

constexpr std::uint8_t kStateVersion = 4;
// Are read too:
constexpr std::uint8_t kWithoutChange = 3, kWithoutLanes = 2;
constexpr std::size_t kMaxCallsite = 1024;
constexpr std::size_t kMaxText = 8192;
constexpr std::uint8_t kMaxKind = static_cast<std::uint8_t>(OpenRecord::Kind::arguments);
constexpr std::uint8_t kMaxParked = 64;

// Of all numbers: what is too large wraps around, and back.
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

class Writer {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  }
  template <typename T>
  void optional(const std::optional<T>& value) {
    number<std::uint8_t>(value ? 1 : 0);
    if (value) number<T>(*value);
  }
  // Seven bits a byte, the lowest first; small ones of either sign are short.
  void difference(std::int64_t value) {
    auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
    for (; bits > 0x7F; bits >>= 7) out.push_back(static_cast<char>(bits | 0x80));
    out.push_back(static_cast<char>(bits));
  }
  void lanes(const ParserState& state) {
    const auto& entries = state.lane_iterations.entries();
    number(static_cast<std::uint16_t>(entries.size()));
    std::int64_t lane = 0, iteration = state.iteration.value_or(0);
    for (const auto& [next_lane, next_iteration] : entries) {
      difference(next_lane - lane);
      difference(minus(next_iteration, iteration));
      lane = next_lane;
      iteration = next_iteration;
    }
  }
  void text(std::string_view value, std::size_t most = kMaxCallsite) {
    value = value.substr(0, most);
    number(static_cast<std::uint16_t>(value.size()));
    out.append(value);
  }
  void change(const ClockChange& value) {
    number(static_cast<std::uint8_t>((value.by != 0 ? 1 : 0) | (value.doubled ? 2 : 0)));
    if (value.by == 0) return;
    number(static_cast<std::int16_t>(value.from));
    number(static_cast<std::int16_t>(value.by));
  }
  void writer(const LastWriter& value) {
    optional(value.rank);
    optional(value.lane);
  }
  void piece(const std::optional<OpenPiece>& value) {
    number<std::uint8_t>(value ? 1 : 0);
    if (!value) return;
    number(value->head);
    number(static_cast<std::uint8_t>(value->severity));
    text(value->callsite);
    writer(value->writer);
  }
  // What wrappers left behind.
  void wrappers(const ParserState& state) {
    for (const auto& left : state.pieces_left) piece(left);
    for (const LastWriter& last : state.writers) writer(last);
    const FileLine& line = state.file_line;
    number(static_cast<std::uint8_t>(line.unfinished | line.contained << 1 | line.continues << 2));
    number(static_cast<std::uint8_t>(line.output));
    number(static_cast<std::uint8_t>(state.evidence.verdict));
    number(static_cast<std::uint8_t>(state.evidence.kind));
    number(state.evidence.seen);
    if (state.evidence.kind == WeakWrapper::host) {
      number(state.evidence.host);
      number(state.evidence.stem);
      number(static_cast<std::uint8_t>(state.evidence.others | state.evidence.again << 1));
    }
    number(static_cast<std::uint8_t>(state.hosts.hashes.size()));
    for (std::uint64_t host : state.hosts.hashes) number(host);
  }
  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T number() {
    T value = 0;
    if (rest_.size() < sizeof(T)) {
      bad_ = true;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  // A number of at most `most`.
  std::uint8_t small(std::uint8_t most) {
    const auto value = number<std::uint8_t>();
    if (value > most) bad_ = true;
    return value > most ? std::uint8_t{0} : value;
  }
  template <typename T>
  void optional(std::optional<T>& value) {
    if (small(1) == 1) value = number<T>();
  }
  std::int64_t difference() {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<std::uint8_t>();
      bits |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte <= 0x7F) {
        return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
      }
    }
    bad_ = true;
    return 0;
  }
  void lanes(ParserState& state) {
    const auto count = number<std::uint16_t>();
    if (count > LaneIterations::kMost) bad_ = true;
    std::int64_t lane = 0, iteration = state.iteration.value_or(0);
    for (std::size_t i = 0; i < count && !bad_; ++i) {
      lane = plus(lane, difference());
      iteration = plus(iteration, difference());
      if (lane < INT32_MIN || lane > INT32_MAX) bad_ = true;
      if (!bad_) state.lane_iterations.set(static_cast<std::int32_t>(lane), iteration);
    }
  }
  std::string text(std::size_t most = kMaxCallsite) {
    const auto size = number<std::uint16_t>();
    if (size > most || size > rest_.size()) {
      bad_ = true;
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  Severity severity() {
    return static_cast<Severity>(small(static_cast<std::uint8_t>(Severity::fatal)));
  }
  void change(ClockChange& value) {
    const std::uint8_t bits = small(3);
    value.doubled = (bits & 2) != 0;
    if ((bits & 1) == 0) return;
    value.from = number<std::int16_t>();
    value.by = number<std::int16_t>();
  }
  void writer(LastWriter& value) {
    optional(value.rank);
    optional(value.lane);
  }
  void piece(std::optional<OpenPiece>& value) {
    if (small(1) == 0) return;
    value.emplace();
    value->head = number<std::uint64_t>();
    value->severity = severity();
    value->callsite = text();
    writer(value->writer);
  }
  void wrappers(ParserState& state) {
    for (auto& left : state.pieces_left) piece(left);
    for (LastWriter& last : state.writers) writer(last);
    const std::uint8_t bits = small(7);
    state.file_line.unfinished = (bits & 1) != 0;
    state.file_line.contained = (bits & 2) != 0;
    state.file_line.continues = (bits & 4) != 0;
    state.file_line.output = static_cast<Output>(small(2));
    state.evidence.verdict = static_cast<WeakEvidence::Verdict>(small(2));
    state.evidence.kind = static_cast<WeakWrapper>(small(4));
    state.evidence.seen = small(WeakEvidence::kEnough);
    if (state.evidence.kind == WeakWrapper::host) {
      state.evidence.host = number<std::uint32_t>();
      state.evidence.stem = number<std::uint32_t>();
      const std::uint8_t hosts_seen = small(3);
      state.evidence.others = (hosts_seen & 1) != 0;
      state.evidence.again = (hosts_seen & 2) != 0;
    }
    const std::uint8_t hosts = small(KnownHosts::kMost);
    for (std::uint8_t i = 0; i < hosts && !bad_; ++i) {
      state.hosts.hashes.push_back(number<std::uint64_t>());
    }
  }
  bool good() const { return !bad_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool bad_ = false;
};

void write_record(Writer& w, const OpenRecord& record) {
  w.number(static_cast<std::uint8_t>(record.kind));
  if (!record.open()) return;
  w.number(record.head);
  w.number(static_cast<std::uint8_t>(record.severity));
  w.text(record.callsite);
  w.number(record.lines);
  w.number(record.bytes);
  w.number(record.last_observed);
  w.optional(record.rank);
  w.number(record.phase);
  w.text(record.text, kMaxText);
}

void read_record(Reader& r, OpenRecord& record) {
  record.kind = static_cast<OpenRecord::Kind>(r.small(kMaxKind));
  if (!record.open()) return;
  record.head = r.number<std::uint64_t>();
  record.severity = r.severity();
  record.callsite = r.text();
  record.lines = r.number<std::uint32_t>();
  record.bytes = r.number<std::uint64_t>();
  record.last_observed = r.number<UnixNanos>();
  r.optional(record.rank);
  record.phase = r.number<std::uint8_t>();
  record.text = r.text(kMaxText);
}

bool sane(const OpenRecord& record) { return record.last_observed >= 0; }

}  // namespace

std::string encode_state(const ParserState& state) {
  Writer w;
  w.number(kStateVersion);
  w.optional(state.iteration);
  w.optional(state.last_time);
  w.number(state.last_time_observed);
  w.optional(state.utc_offset_minutes);
  write_record(w, state.record);
  w.piece(state.piece);
  w.wrappers(state);
  w.number(static_cast<std::uint8_t>(state.parked.size()));
  for (const OpenRecord& record : state.parked) write_record(w, record);
  w.optional(state.boot);
  w.lanes(state);
  w.change(state.clock_change);
  return std::move(w.out);
}

Result<ParserState> decode_state(std::string_view bytes) {
  ParserState state;
  Reader r(bytes);
  const auto version = r.number<std::uint8_t>();
  if (version < kWithoutLanes || version > kStateVersion) {
    return Error(ErrorCode::corrupt, "parser state of an unknown version");
  }
  r.optional(state.iteration);
  r.optional(state.last_time);
  state.last_time_observed = r.number<UnixNanos>();
  r.optional(state.utc_offset_minutes);
  read_record(r, state.record);
  r.piece(state.piece);
  r.wrappers(state);
  state.parked.resize(r.small(kMaxParked));
  for (OpenRecord& record : state.parked) read_record(r, record);
  r.optional(state.boot);
  if (version > kWithoutLanes) r.lanes(state);
  if (version > kWithoutChange) r.change(state.clock_change);
  // Times that never were: differences of them must not overflow.
  const bool possible = state.last_time.value_or(0) >= 0 && state.last_time_observed >= 0 &&
                        sane(state.record) &&
                        std::all_of(state.parked.begin(), state.parked.end(), sane) &&
                        std::abs(state.utc_offset_minutes.value_or(0)) <= 24 * 60 &&
                        std::abs(state.clock_change.by) <= 60;
  if (!r.good() || !possible) return Error(ErrorCode::corrupt, "parser state is damaged");
  return state;
}

}  // namespace logarithm
