#include "common/line/unwrap.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "common/line/digit_trace.h"
#include "common/line/hash64.h"
#include "common/line/unwrap_steps.h"
#include "common/line/wrappers/cursor.h"

namespace logarithm {
namespace {

using namespace wrappers;

// Outermost first: what may still come behind a wrapper of that stage.
enum class Stage : std::uint8_t { cluster, role, rank, done };

std::uint64_t mix(std::uint64_t lane, std::uint64_t value) {
  return (lane ^ value) * 0x9E3779B97F4A7C15ull + 0x632BE59BD9B4E019ull;
}

// Merges layers into what they say together.
class Merge {
 public:
  explicit Merge(Wrapped& out) : out_(out) {}

  void take(const Layer& layer) {
    if (layer.transport && out_.text_begin == out_.size) out_.text_begin += layer.size;
    out_.size += layer.size;
    for (std::size_t i = 0; i < layer.fact_count; ++i) add(layer.facts[i]);
    if (layer.output != Output::unset) out_.output = layer.output;
    if (layer.severity != Severity::unset) out_.severity = layer.severity;
    out_.message = out_.message || layer.message;
    // The outermost time with a zone: the log store's, which knows it best. An uptime counts only
    // where nobody knows more.
    const bool better = layer.time && layer.time->uptime
                            ? !out_.time.has_value()
                            : !(out_.time && out_.time->utc_offset_minutes);
    if (layer.time && better) out_.time = layer.time;
    if (layer.rank) {
      // The inner one is nearer to the process; the outer is kept as a mention.
      if (out_.rank && *out_.rank != *layer.rank) {
        out_.ranks_differ = true;
        mention(*out_.rank);
      }
      // A prefix that says the same again makes no other writer.
      if (out_.rank != layer.rank) hash(1, static_cast<std::uint64_t>(*layer.rank));
      out_.rank = layer.rank;
    }
    if (layer.task) {
      task_ = layer.task;
      hash(2, static_cast<std::uint64_t>(*layer.task));
    }
    if (layer.local_rank) {
      has_local_ = true;
      hash(3, static_cast<std::uint64_t>(*layer.local_rank));
    }
    if (layer.output != Output::unset) hash(4, static_cast<std::uint64_t>(layer.output));
    if (!layer.writer.empty()) hash(5, hash64(layer.writer));
  }

  // A task is a rank, unless something inside numbers ranks itself: then tasks are nodes (srun
  // torchrun), and where only local ranks are known the global one is not.
  void finish() {
    if (task_ && !out_.rank && !has_local_) {
      out_.rank = task_;
    } else if (task_ && out_.rank != task_) {
      mention(*task_);
    }
    if (parts_ == 0) return;
    if (parts_ == 1 && out_.rank) {
      out_.lane = out_.rank;
    } else {
      out_.lane = static_cast<std::int32_t>(lane_ >> 33 | 1u << 30);
    }
  }

 private:
  void add(const Fact& fact) {
    if (out_.fact_count < Wrapped::kMostFacts) out_.facts[out_.fact_count++] = fact;
  }
  void mention(std::int32_t rank) { add({"rank", Fact::Type::integer, {}, rank, 0}); }
  void hash(std::uint64_t kind, std::uint64_t value) {
    lane_ = mix(mix(lane_, kind), value);
    ++parts_;
  }

  Wrapped& out_;
  std::optional<std::int32_t> task_;
  bool has_local_ = false;
  std::uint64_t lane_ = 0;
  unsigned parts_ = 0;
};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

using Reader = bool (*)(std::string_view, Layer&);

// Who read the last layer; null: the stream's hosts decided.
thread_local Reader last_reader = nullptr;

template <typename Read>
bool attempt(Read read, std::string_view text, Layer& layer) {
  layer.clear();
  if (!read(text, layer)) return false;
  if constexpr (std::is_convertible_v<Read, Reader>) {
    last_reader = read;
  } else {
    last_reader = nullptr;
  }
  return true;
}

// Those that begin with a bracket, by what comes behind it.
bool read_bracketed(std::string_view text, Stage stage, Layer& layer, Stage& next) {
  const char second = text.size() > 1 ? text[1] : '\0';
  next = Stage::rank;
  if (stage > Stage::rank) return false;
  if (second == 'r' && attempt(read_rank_prefix, text, layer)) {
    next = Stage::done;
    return true;
  }
  if (stage <= Stage::role && (is_letter(second) || second == '_') &&
      attempt(read_role_prefix, text, layer)) {
    return true;
  }
  if (stage > Stage::cluster) return false;
  next = Stage::cluster;
  if (is_digit(second) || second == ' ') {
    // Most are times or lists; what stands at the closing bracket tells.
    const std::size_t close = text.substr(0, 64).find(']');
    if (close == std::string_view::npos) return false;
    const char behind = close + 1 < text.size() ? text[close + 1] : '\0';
    if ((behind == '<' || behind == '[') && attempt(read_output_tag, text, layer)) return true;
    return close > 8 && text[close - 7] == '.' && attempt(read_kernel_stamp, text, layer);
  }
  if (second == 'p' && attempt(read_kubectl, text, layer)) return true;
  // [prterun-…@1,3]<stdout>: and [Wed Mar  4 05:06:07 2026]
  const std::string_view begin = text.substr(0, 128);
  if (begin.find('@') != std::string_view::npos && attempt(read_output_tag, text, layer)) {
    return true;
  }
  return is_upper(second) && text.size() > 4 && text[4] == ' ' &&
         attempt(read_kernel_stamp, text, layer);
}

bool read_dated(std::string_view text, Layer& layer) {
  if (text.size() < 20 || text[4] != '-') return false;
  if (text[10] == 'T' &&
      (attempt(read_journal_iso, text, layer) || attempt(read_log_stamp, text, layer))) {
    return true;
  }
  // 2026-03-04 05:06:07[3]<stdout>:text
  const std::size_t bracket = text.substr(0, 40).find('[', 19);
  return bracket != std::string_view::npos && bracket + 1 < text.size() &&
         is_digit(text[bracket + 1]) && attempt(read_output_tag, text, layer);
}

bool read_named(std::string_view text, KnownHosts& hosts, Layer& layer) {
  if (is_upper(text[0]) && text.size() > 15 && text[3] == ' ' &&
      (attempt(read_syslog, text, layer) || attempt(read_output_tag, text, layer))) {
    return true;
  }
  if (text.size() > 14 && (text[6] == ':' || text[8] == ':') &&
      attempt(read_dmesg_levels, text, layer)) {
    return true;
  }
  bool strong = false;
  const auto read = [&strong](std::string_view t, Layer& l) {
    return read_host_prefix(t, l, strong);
  };
  if (!attempt(read, text, layer)) {
    return attempt(read_compose, text, layer) || attempt(read_torchx, text, layer);
  }
  if (strong) {
    hosts.add(layer.writer);
    return true;
  }
  return hosts.contains(layer.writer);
}

bool read_strong(std::string_view text, Stage stage, KnownHosts& hosts, Layer& layer, Stage& next) {
  const char first = text[0];
  if (first == '[') return read_bracketed(text, stage, layer, next);
  if (stage > Stage::cluster) return false;
  next = Stage::cluster;
  switch (first) {
    case '(': return attempt(read_call_prefix, text, layer);
    case '<':
      return attempt(read_kernel_stamp, text, layer) || attempt(read_syslog, text, layer) ||
             attempt(read_syslog_5424, text, layer);
    default: break;
  }
  if (is_digit(first) && read_dated(text, layer)) return true;
  return is_word(first) && read_named(text, hosts, layer);
}

// The same rank twice: a launcher's prefix, then the process's own. Another rank is its text.
bool read_again(std::string_view text, const Wrapped& known, Layer& layer) {
  if (!known.rank || !text.starts_with("[r") || !attempt(read_rank_prefix, text, layer)) {
    return false;
  }
  if (layer.rank == known.rank) return true;
  DigitTrace::give_up();  // with other ranks it would be one
  return false;
}

WeakWrapper read_weak(std::string_view text, Stage stage, WeakWrapper accepted, Layer& layer,
                      Stage& next) {
  const char first = text[0];
  if (first == '[') {
    next = Stage::rank;
    return stage <= Stage::role && attempt(read_rank_template, text, layer)
               ? WeakWrapper::rank_template
               : WeakWrapper::none;
  }
  next = Stage::cluster;
  if (stage > Stage::cluster) return WeakWrapper::none;
  if (is_letter(first) && accepted != WeakWrapper::host && attempt(read_host_label, text, layer)) {
    return WeakWrapper::host_label;
  }
  if ((first == ' ' || first == 'P' || is_digit(first)) && attempt(read_task_label, text, layer)) {
    return WeakWrapper::task_label;
  }
  return is_word(first) && attempt(read_bare_host, text, layer) ? WeakWrapper::host
                                                                : WeakWrapper::none;
}

}  // namespace

bool KnownHosts::contains(std::string_view host) const {
  return !hashes.empty() && std::find(hashes.begin(), hashes.end(), hash64(host)) != hashes.end();
}

void KnownHosts::add(std::string_view host) {
  if (contains(host)) return;
  if (hashes.size() == kMost) hashes.erase(hashes.begin());
  hashes.push_back(hash64(host));
}

void Wrapped::clear() {
  text_begin = size = 0;
  rank.reset();
  ranks_differ = message = false;
  output = Output::unset;
  severity = Severity::unset;
  time.reset();
  lane.reset();
  fact_count = 0;
  weak = WeakWrapper::none;
  host = {};
}

WeakSign Wrapped::sign() const {
  WeakSign out;
  out.kind = weak;
  if (host.empty()) return out;
  std::string stem;
  for (const char c : host) {
    if (!is_digit(c)) {
      stem += c;
    } else if (!stem.ends_with('0')) {
      stem += '0';
    }
  }
  out.host = static_cast<std::uint32_t>(hash64(host));
  out.stem = static_cast<std::uint32_t>(hash64(stem));
  return out;
}

namespace {

// `each` is called for every layer that is taken.
template <typename Each>
void peel(std::string_view text, const UnwrapMode& mode, KnownHosts& hosts, Layer& layer,
          Wrapped& out, Each each) {
  out.clear();
  if (text.empty()) return;
  Merge merge(out);
  Stage stage = Stage::cluster;
  bool any = false;
  unsigned layers = mode.layers;
  while (layers < Unwrapper::kMostLayers && out.size < text.size()) {
    const std::string_view rest = text.substr(out.size);
    Stage next = stage;
    // A rank's own prefix first: a template could look the same.
    const bool again = stage == Stage::done && read_again(rest, out, layer);
    if (again || read_strong(rest, stage, hosts, layer, next)) {
      if (last_reader == nullptr && out.host.empty()) out.host = layer.writer;
    } else {
      const WeakWrapper weak = read_weak(rest, stage, mode.accepted, layer, next);
      if (weak == WeakWrapper::none) break;
      if (out.weak == WeakWrapper::none) {
        out.weak = weak;
        if (out.host.empty()) out.host = layer.writer;
      }
      if (weak != mode.accepted && !(mode.label && weak == WeakWrapper::task_label)) break;
    }
    each(out.size, layer.size, again);
    merge.take(layer);
    any = true;
    ++layers;
    stage = std::max(stage, next);
  }
  if (out.weak == WeakWrapper::none && !out.host.empty()) out.weak = WeakWrapper::host;
  if (any) merge.finish();
}

}  // namespace

void Unwrapper::unwrap(std::string_view text, unsigned layers, WeakWrapper accepted, bool label,
                       KnownHosts& hosts, Wrapped& out) {
  peel(text, {layers, accepted, label}, hosts, layer_, out, [](std::size_t, std::size_t, bool) {});
}

bool trace_unwrap(std::string_view text, const UnwrapMode& mode, KnownHosts& hosts, Wrapped& out,
                  std::vector<UnwrapStep>& steps) {
  Layer layer;
  bool known = text.size() <= 0xFFFF;
  peel(text, mode, hosts, layer, out, [&](std::size_t begin, std::size_t size, bool again) {
    known = known && last_reader != nullptr;
    steps.push_back(
        {last_reader, static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(size), again});
  });
  return known;
}

bool repeat_unwrap(std::string_view text, const std::vector<UnwrapStep>& steps, Wrapped& out) {
  out.clear();
  if (steps.empty()) return true;
  thread_local Layer layer;
  Merge merge(out);
  for (const UnwrapStep& step : steps) {
    layer.clear();
    if (!step.read(text.substr(step.begin), layer) || layer.size != step.size) return false;
    if (step.same_rank && layer.rank != out.rank) return false;
    merge.take(layer);
  }
  merge.finish();
  return true;
}

}  // namespace logarithm
