#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/line/line.h"
#include "common/line/log_time.h"
#include "common/line/wrappers/layer.h"

namespace logarithm {

// Wrappers whose shape plain text has too: they count only where the stream shows that it bears
// them.
enum class WeakWrapper : std::uint8_t {
  none = 0,
  task_label = 1,
  rank_template = 2,
  host_label = 3,
  host = 4  // pdsh's, in front of plain text
};

// Which weak wrapper a line bears; of one that begins with a host, the hash of that, and of its
// name without the digits.
struct WeakSign {
  WeakWrapper kind = WeakWrapper::none;
  std::uint32_t host = 0, stem = 0;
};

// Hosts that pdsh named on this stream, as hashes; at most kMost, oldest first.
struct KnownHosts {
  static constexpr std::size_t kMost = 64;
  std::vector<std::uint64_t> hashes;

  bool contains(std::string_view host) const;
  void add(std::string_view host);
};

// What all wrappers of one text say together. Reused from line to line: nothing is allocated.
struct Wrapped {
  static constexpr std::size_t kMostFacts = 24;

  std::size_t text_begin = 0;  // bytes of transport wrappers in front
  std::size_t size = 0;        // bytes of all wrappers
  std::optional<std::int32_t> rank;
  bool ranks_differ = false;  // two wrappers name ranks, and not the same
  bool message = false;       // see Layer::message
  Output output = Output::unset;
  Severity severity = Severity::unset;
  std::optional<PrintedTime> time;
  // Tells the writers of one stream apart: the rank where that is all, else a hash of what is
  // known. Lines of different lanes are never one record.
  std::optional<std::int32_t> lane;
  std::array<wrappers::Fact, kMostFacts> facts;
  std::size_t fact_count = 0;
  WeakWrapper weak = WeakWrapper::none;  // the weak shape that was there, taken or not
  std::string_view host;  // … the host of one that begins with it; also of pdsh's strong one

  void clear();
  WeakSign sign() const;
};

// Peels the wrappers in front of a text, outermost first, at most kMostLayers of them. `accepted`
// says which weak ones the stream bears; `label` that its process makes task labels credible. CRI
// and JSON are not its business: see intake.h.
class Unwrapper {
 public:
  static constexpr unsigned kMostLayers = 4;

  // `out` is cleared first, `hosts` learns. Views in `out` are into `text`. `layers`: how many were
  // peeled before (the container's).
  void unwrap(std::string_view text, unsigned layers, WeakWrapper accepted, bool label,
              KnownHosts& hosts, Wrapped& out);

 private:
  wrappers::Layer layer_;
};

}  // namespace logarithm
