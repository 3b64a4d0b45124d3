#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/line/line.h"
#include "common/line/log_time.h"

namespace logarithm::wrappers {

// A pair that a wrapper named. Views into the text or into constants.
struct Fact {
  enum class Type : std::uint8_t { text, integer, real };
  std::string_view key;
  Type type = Type::text;
  std::string_view text;
  std::int64_t integer = 0;
  double real = 0;
};

// What one wrapper in front of a text says. clear() and use again: nothing is allocated.
struct Layer {
  static constexpr std::size_t kMostFacts = 8;

  std::size_t size = 0;    // bytes of the wrapper; the rest is what it wraps
  bool transport = false;  // put there by a log store, not by a launcher: no part of `text`
  bool message = false;    // each message has one: no line behind it continues another
  std::optional<std::int32_t> rank;        // a global rank
  std::optional<std::int32_t> task;        // a task's number: the rank, unless tasks are nodes
  std::optional<std::int32_t> local_rank;  // never a global rank
  Output output = Output::unset;
  Severity severity = Severity::unset;
  std::optional<PrintedTime> time;
  std::string_view writer;  // what else tells writers of one stream apart: host, pid
  std::array<Fact, kMostFacts> facts;
  std::size_t fact_count = 0;

  void clear() {
    size = 0;
    transport = message = false;
    rank.reset();
    task.reset();
    local_rank.reset();
    output = Output::unset;
    severity = Severity::unset;
    time.reset();
    writer = {};
    fact_count = 0;
  }
  void add(std::string_view key, std::string_view text) {
    if (fact_count < kMostFacts) facts[fact_count++] = {key, Fact::Type::text, text, 0, 0};
  }
  void add(std::string_view key, std::int64_t value) {
    if (fact_count < kMostFacts) facts[fact_count++] = {key, Fact::Type::integer, {}, value, 0};
  }
  void add_real(std::string_view key, double value) {
    if (fact_count < kMostFacts) facts[fact_count++] = {key, Fact::Type::real, {}, 0, value};
  }
};

// Each reads one wrapper at the start of `text` into a cleared `layer`; false: there is none, and
// `layer` may hold anything. By hand, for a line without wrapper is the usual one. In README.md:
// the shapes.

bool read_cri(std::string_view text, Layer& layer);          // 2026-…Z stdout F text
bool read_journal_iso(std::string_view text, Layer& layer);  // 2026-…+0000 host unit[7]: text
bool read_syslog(std::string_view text, Layer& layer);       // Mar  4 05:06:07 host unit[7]: text
bool read_syslog_5424(std::string_view text, Layer& layer);  // <34>1 2026-…Z host app 7 id - text
bool read_kernel_stamp(std::string_view text, Layer& layer);  // [ 123.456789] text, <6>[…
bool read_dmesg_levels(std::string_view text, Layer& layer);  // kern  :err   : [ 123.456789] text
bool read_compose(std::string_view text, Layer& layer);       // trainer-2  | text
bool read_torchx(std::string_view text, Layer& layer);        // trainer/0 [1]:text
bool read_kubectl(std::string_view text, Layer& layer);       // [pod/name/container] text
bool read_log_stamp(std::string_view text, Layer& layer);     // 2026-…Z [rank3]: text
bool read_call_prefix(std::string_view text, Layer& layer);   // (Actor pid=7, ip=…) text
bool read_output_tag(std::string_view text, Layer& layer);    // [1,3]<stdout>:text, [3]<stdout>:
bool read_rank_prefix(std::string_view text, Layer& layer);   // [rank3]: text
bool read_role_prefix(std::string_view text, Layer& layer);   // [default3]:text
// Weak: text of their shape is common, so that the stream must have shown what it is.
bool read_task_label(std::string_view text, Layer& layer);     // "12: text", "P1  3: text"
bool read_rank_template(std::string_view text, Layer& layer);  // [12]:text, [trainer12|4]:text
bool read_host_label(std::string_view text, Layer& layer);     // node1: 12: text
bool read_bare_host(std::string_view text, Layer& layer);      // node1: text

// `host: text`. `strong` when what follows shows that the word is a host.
bool read_host_prefix(std::string_view text, Layer& layer, bool& strong);

// Reads "Mar  4 05:06:07" (a fraction may follow); false leaves `at`.
bool read_month_stamp(std::string_view text, std::size_t& at, PrintedTime& time);
// Reads "Wed Mar  4 05:06:07 2026".
bool read_weekday_stamp(std::string_view text, std::size_t& at, PrintedTime& time);
// Levels as the kernel and syslog number them; a facility above them is ignored.
Severity severity_of_priority(std::int64_t priority);
// A name that a host may have, and no word that loggers print for a severity.
std::string_view read_host(std::string_view text, std::size_t& at);

}  // namespace logarithm::wrappers
