#include "agent/follow/resume.h"

#include <algorithm>
#include <utility>

#include "common/base/logging.h"
#include "common/io/crc32c.h"

namespace logarithm::agent {
namespace {

constexpr std::uint64_t kRebuildBytes = 1u << 20;

// The end of what is stored without a hole from the start.
std::uint64_t contiguous_end(const StoredGeneration& generation) {
  if (generation.ranges.empty() || generation.ranges.front().first != 0) return 0;
  return generation.ranges.front().end;
}

Result<std::string> tail_before(BlockingToken& token, SourceFile& file, std::uint64_t position) {
  return read_range(token, file, position - std::min<std::uint64_t>(position, kTailBytes),
                    position);
}

}  // namespace

Result<bool> fits(BlockingToken& token, SourceFile& file, std::uint64_t size, std::string_view head,
                  std::uint64_t position, std::uint32_t tail_crc) {
  if (size < position) return false;
  const std::uint64_t known = std::min<std::uint64_t>(head.size(), size);
  if (known < head.size() && known < position) return false;
  Result<std::string> start = read_range(token, file, 0, known);
  if (!start.ok() && start.error().code() == ErrorCode::corrupt) return false;
  if (!start.ok()) return start.error();
  if (!fits_head(*start, head)) return false;
  Result<std::string> tail = tail_before(token, file, position);
  if (!tail.ok() && tail.error().code() == ErrorCode::corrupt) return false;
  if (!tail.ok()) return tail.error();
  return position == 0 || crc32c(*tail) == tail_crc;
}

Result<std::optional<StoredChoice>> choose_stored(BlockingToken& token, SourceFile& file,
                                                  std::uint64_t size,
                                                  const std::vector<StoredGeneration>& stored) {
  std::vector<StoredGeneration> newest_first = stored;
  std::sort(newest_first.begin(), newest_first.end(),
            [](const auto& a, const auto& b) { return a.generation > b.generation; });
  for (StoredGeneration& generation : newest_first) {
    const std::uint64_t last = generation.ranges.empty() ? 0 : generation.ranges.back().end;
    LGR_TRY(const bool good, fits(token, file, size, generation.head, last, generation.tail_crc));
    if (!good) continue;
    const std::uint64_t position = contiguous_end(generation);
    return std::optional<StoredChoice>(StoredChoice{std::move(generation), position});
  }
  return std::optional<StoredChoice>();
}

Result<std::string> rebuild_parser_state(BlockingToken& token, WriterParts& parts, SourceFile& file,
                                         std::uint64_t position, StreamContext context,
                                         UnixNanos observed) {
  const std::uint64_t earliest = position - std::min(position, kRebuildBytes);
  LGR_TRY(const std::string bytes, read_range(token, file, earliest, position));
  std::string_view rest = bytes;
  if (earliest > 0) {
    // Begin at a line; without one in a whole MiB there is nothing to learn.
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) return std::string();
    rest.remove_prefix(newline + 1);
  }
  LGR_TRY(auto parser, StreamParser::make(std::move(context), *parts.rules, parts.pool,
                                          position - rest.size(), ""));
  ParsedLines discarded;
  while (!rest.empty()) {
    const std::string_view some = rest.substr(0, 64u << 10);
    parser->feed(some, observed, discarded);
    discarded.lines.clear();
    discarded.gaps.clear();
    rest.remove_prefix(some.size());
  }
  // What was stored ends here, so an unfinished line left as partial, and later bytes are glued.
  if (parser->position() != position) {
    parser->flush(StreamParser::Flush::idle, observed, discarded);
  }
  if (parser->position() != position) return std::string();
  return parser->state();
}

Result<std::unique_ptr<StreamWriter>> resume_writer(BlockingToken& token, WriterParts& parts,
                                                    SourceFile& file, StreamCheckpoint checkpoint,
                                                    StreamContext context, UnixNanos observed) {
  const std::uint64_t position = checkpoint.position;
  LGR_TRY(std::string tail, tail_before(token, file, position));
  if (position > 0 && checkpoint.parser_state.empty()) {
    LGR_TRY(checkpoint.parser_state,
            rebuild_parser_state(token, parts, file, position, context, observed));
  }
  const SourceState source = parse_source_state(checkpoint.source);
  PrefixDigest digest = PrefixDigest::from_text(source.digest, position, std::move(tail));
  auto writer = StreamWriter::start(parts, checkpoint, digest, context);
  if (writer.ok() || writer.error().code() != ErrorCode::corrupt) return writer;
  LGR_WARN("parser state unreadable stream={}, rebuilding it", to_text(checkpoint.stream));
  LGR_TRY(checkpoint.parser_state,
          rebuild_parser_state(token, parts, file, position, context, observed));
  return StreamWriter::start(parts, std::move(checkpoint), std::move(digest), std::move(context));
}

Result<std::unique_ptr<StreamWriter>> resume_writer_blind(WriterParts& parts,
                                                          StreamCheckpoint checkpoint,
                                                          StreamContext context) {
  const SourceState source = parse_source_state(checkpoint.source);
  PrefixDigest digest = PrefixDigest::from_text(source.digest, checkpoint.position, {});
  auto writer = StreamWriter::start(parts, checkpoint, digest, context);
  if (writer.ok() || writer.error().code() != ErrorCode::corrupt) return writer;
  checkpoint.parser_state.clear();
  return StreamWriter::start(parts, std::move(checkpoint), std::move(digest), std::move(context));
}

}  // namespace logarithm::agent
