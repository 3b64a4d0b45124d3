#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/line/stream_parser.h"
#include "common/line/transport.h"
#include "common/line/unwrap.h"
#include "common/rules/rule_set.h"

// Any bytes as wrapped lines: positions stay inside the text, pieces give the file back, and a
// successor at any cut sees the same. The first bytes of the input choose the cuts.

namespace {

using namespace logarithm;

constexpr UnixNanos kAt = 1'796'040'000'000'000'000;

void check(bool condition) {
  if (!condition) std::abort();
}

const RuleSet& no_rules() {
  static const std::shared_ptr<const RuleSet> rules = [] {
    std::vector<RuleProblem> problems;
    return RuleSet::build({}, problems);
  }();
  return *rules;
}

std::unique_ptr<StreamParser> make(LongLinePool& pool, bool slurm, std::uint64_t position,
                                   std::string_view state) {
  StreamContext context;
  context.utc_offset_minutes = 0;
  context.slurm_step = slurm;
  auto made = StreamParser::make(context, no_rules(), pool, position, state);
  check(made.ok());
  return std::move(made).value();
}

std::string exported(const ParsedLines& parsed, std::string_view file) {
  std::vector<std::pair<std::uint64_t, std::string>> pieces;
  for (const Line& line : parsed.lines) {
    std::string_view rest = line.raw;
    for (std::size_t i = 0; i + 1 < line.extents.size(); ++i) {
      check(line.extents[i].length <= rest.size());
      pieces.emplace_back(line.extents[i].offset, rest.substr(0, line.extents[i].length));
      rest.remove_prefix(line.extents[i].length);
    }
    const auto at = line.extents.empty() ? line.offset : line.extents.back().offset;
    pieces.emplace_back(at, std::string(rest) + std::string(bytes_of(line.terminator)));
    const std::string plain = plain_of(line);
    check(line.text_begin <= line.header_begin && line.header_begin <= line.body_begin);
    check(line.body_begin <= plain.size());
    check(line.head <= line.offset);
  }
  for (const Gap& gap : parsed.gaps) {
    pieces.emplace_back(gap.from, file.substr(gap.from, *gap.to - gap.from));
  }
  std::sort(pieces.begin(), pieces.end());
  std::string out;
  for (const auto& [offset, bytes] : pieces) out += bytes;
  return out;
}

bool same(const ParsedLines& a, const ParsedLines& b) {
  return std::equal(a.lines.begin(), a.lines.end(), b.lines.begin(), b.lines.end(),
                    [](const Line& x, const Line& y) {
                      return x.offset == y.offset && x.raw == y.raw && x.flags == y.flags &&
                             x.head == y.head && x.extents == y.extents &&
                             x.transport == y.transport && x.wrapper_rank == y.wrapper_rank &&
                             x.body_begin == y.body_begin && x.output == y.output;
                    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t cuts = std::min<std::size_t>(size, 8);
  const std::string_view file(reinterpret_cast<const char*>(data) + cuts, size - cuts);
  const bool slurm = cuts > 0 && data[0] % 2 == 0;
  LongLinePool pool;

  ParsedLines whole;
  auto parser = make(pool, slurm, 0, "");
  parser->feed(file, kAt, whole);
  parser->flush(StreamParser::Flush::closed, kAt, whole);
  check(exported(whole, file) == file);

  ParsedLines cut;
  parser = make(pool, slurm, 0, "");
  std::size_t restarts = 0;
  for (std::size_t turn = 0; parser->next_read() < file.size(); ++turn) {
    const std::size_t choice = cuts > 0 ? data[turn % cuts] : 255u;
    const std::size_t left = file.size() - parser->next_read();
    parser->feed(file.substr(parser->next_read(), std::min(left, 1 + choice * 4)), kAt, cut);
    if (choice % 3 == 1 && restarts < 8) {
      ++restarts;
      const std::string state = parser->state();
      const std::uint64_t position = parser->position();
      parser = make(pool, slurm, position, state);
      check(parser->state() == state);
    }
  }
  parser->flush(StreamParser::Flush::closed, kAt, cut);
  check(size > 40'000 || same(whole, cut));  // long ones may leave in pieces

  // What a damaged block may hold.
  const std::uint32_t first = cuts > 0 ? data[0] : 0;
  for (std::uint8_t coding = 0; coding < 5; ++coding) {
    decode_transport(file, coding, {});
    decode_transport(file, coding, {{0, first, 3}, {9, 7, 200}});
  }
  return 0;
}
