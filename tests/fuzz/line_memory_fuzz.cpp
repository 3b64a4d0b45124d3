#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"
#include "tests/support/forgetful_rules.h"
#include "tests/support/same_meta.h"

// Any lines, each of them several times with other digits: a parser that remembers shapes gives
// what one gives that remembers nothing.

namespace {

using namespace logarithm;

constexpr UnixNanos kAt = 1'796'040'000'000'000'000;

void check(bool condition) {
  if (!condition) std::abort();
}

const RuleSet& shipped_rules() {
  static const std::shared_ptr<const RuleSet> rules = [] {
    std::vector<RuleProblem> problems;
    return RuleSet::build(RuleSet::shipped(), problems);
  }();
  return *rules;
}

void check_same(const Line& a, const Line& b) {
  check(a.raw == b.raw && a.flags == b.flags && a.output == b.output && a.head == b.head);
  check(a.text_begin == b.text_begin && a.header_begin == b.header_begin);
  check(a.body_begin == b.body_begin && a.time == b.time && a.severity == b.severity);
  check(a.callsite == b.callsite && a.template_id == b.template_id);
  check(a.wrapper_rank == b.wrapper_rank && a.iteration == b.iteration && a.events == b.events);
  check(a.meta.size() == b.meta.size());
  for (std::size_t i = 0; i < a.meta.size(); ++i) check(test::same_meta(a.meta[i], b.meta[i]));
}

// A round's digits hang on the round and on the place.
std::string with_other_digits(std::string_view text, unsigned round) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] < '0' || out[i] > '9' || round < 3) continue;
    const std::size_t digit = round == 3 ? 9 : round == 4 ? 0 : (i * 7 + round * 3) % 10;
    out[i] = static_cast<char>('0' + digit);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const test::ForgetfulRules forgetful(shipped_rules());
  LongLinePool pool;
  auto quick = StreamParser::make({}, shipped_rules(), pool, 0, "");
  auto plain = StreamParser::make({}, forgetful, pool, 0, "");
  check(quick.ok() && plain.ok());
  for (unsigned round = 0; round < 8; ++round) {
    const std::string bytes = with_other_digits(file, round) + "\n";
    ParsedLines a, b;
    quick.value()->feed(bytes, kAt, a);
    plain.value()->feed(bytes, kAt, b);
    check(a.lines.size() == b.lines.size() && a.gaps.size() == b.gaps.size());
    for (std::size_t i = 0; i < a.lines.size(); ++i) check_same(a.lines[i], b.lines[i]);
    check(quick.value()->state() == plain.value()->state());
  }
  return 0;
}
