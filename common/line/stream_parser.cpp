#include "common/line/stream_parser.h"

#include <algorithm>

#include "common/line/ansi.h"
#include "common/line/header_reader.h"
#include "common/line/line_splitter.h"
#include "common/line/log_header.h"
#include "common/line/order_time.h"
#include "common/line/parser_state.h"
#include "common/line/record_joiner.h"
#include "common/line/template.h"
#include "common/line/utf8.h"
#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

class Parser final : public StreamParser, private LineSplitter::Sink {
 public:
  Parser(StreamContext context, const RuleSet& rules, LongLinePool& pool, std::uint64_t position,
         ParserState state)
      : context_(std::move(context)),
        rules_(&rules),
        state_(std::move(state)),
        splitter_(pool, *this, position, state_.piece.has_value()) {}

  void feed(std::string_view bytes, UnixNanos observed, ParsedLines& out) override {
    begin(observed, out);
    const std::size_t first = out.lines.size();
    const bool timeless = context_.imported && !state_.last_time;
    splitter_.feed(bytes, observed);
    if (timeless && state_.last_time) date_first_lines(first);
  }

  void flush(Flush why, UnixNanos observed, ParsedLines& out) override {
    begin(observed, out);
    splitter_.flush(why == Flush::closed, observed);
    if (why == Flush::closed) end_context();
  }

  void skip_to(std::uint64_t offset, std::string_view reason, UnixNanos observed,
               ParsedLines& out) override {
    if (offset <= splitter_.next_read()) return;
    begin(observed, out);
    splitter_.skip_to(offset, reason, observed);
    end_context();
  }

  void set_context(StreamContext context) override { context_ = std::move(context); }
  void set_rules(const RuleSet& rules) override { rules_ = &rules; }
  std::uint64_t position() const override { return splitter_.position(); }
  std::uint64_t next_read() const override { return splitter_.next_read(); }
  std::string state() const override { return encode_state(state_); }

 private:
  void begin(UnixNanos observed, ParsedLines& out) {
    observed_ = std::max<UnixNanos>(observed, 0);
    out_ = &out;
  }

  // What comes next does not hang together with what was.
  void end_context() {
    state_.piece.reset();
    state_.record = OpenRecord();
    state_.parked.clear();
  }

  void on_gap(const Gap& gap) override { out_->gaps.push_back(gap); }

  void on_segment(const LineSplitter::Segment& segment) override {
    Line& line = out_->lines.emplace_back();
    line.offset = segment.offset;
    line.length = segment.length;
    line.raw = segment.raw;
    line.terminator = segment.terminator;
    line.observed = observed_;
    if (segment.terminator == Terminator::cr) line.flags |= line_flag::progress;
    if (segment.partial) line.flags |= line_flag::partial;
    if (segment.truncated) line.flags |= line_flag::truncated;
    if (!valid_utf8(line.raw)) line.flags |= line_flag::invalid_utf8;
    std::string_view text = line.raw;
    if (has_escape(line.raw)) {
      line.flags |= line_flag::ansi;
      stripped_ = strip_ansi(line.raw);
      text = stripped_;
    }
    if (segment.glued && state_.piece) {
      read_glued(line, text);
    } else {
      read_line(line, text);
    }
    if (segment.partial) {
      state_.piece = OpenPiece{line.head, line.severity, line.callsite};
    } else {
      state_.piece.reset();
    }
  }

  // The rest of a line whose beginning left earlier: no header can be here.
  void read_glued(Line& line, std::string_view text) {
    line.flags |= line_flag::glued;
    rules_->apply(text, context_.stream_name, found_);
    take_found(line, text);
    set_order_time(line, std::nullopt, context_, state_);
    line.head = state_.piece->head;
    inherit_fields(line, state_.piece->severity, state_.piece->callsite);
    carry_iteration(line);
  }

  void read_line(Line& line, std::string_view text) {
    RecordFacts facts;
    if (const auto prefix = parse_rank_prefix(text)) {
      line.header_begin = static_cast<std::uint32_t>(prefix->size);
      facts.rank = prefix->rank;
      take_rank(line, prefix->rank);
    }
    line.body_begin = line.header_begin;
    const auto header = headers_.read(text.substr(line.header_begin));
    if (header) take_header(line, *header);
    facts.has_header = header.has_value();
    facts.report_row = header && header->report_row;
    facts.body = text.substr(line.body_begin);
    OpenRecord& record = record_of(state_, facts.rank);

    rules_->apply(facts.body, context_.stream_name, found_);
    if (is_traceback_frame(record, facts)) {
      // Source text that a traceback quotes is no report of anything.
      found_.events.clear();
      found_.severity.reset();
      found_.iteration.reset();
    }
    facts.has_iteration = found_.iteration.has_value();
    take_found(line, facts.body);
    if (header) add_header_fields(line, *header);
    set_order_time(line, header ? header->time : std::nullopt, context_, state_);
    if (join_record(line, facts, record) == Joined::complete) take_record(line, record.text);
    carry_iteration(line);
  }

  void take_rank(Line& line, std::int32_t rank) {
    if (context_.process_rank && *context_.process_rank != rank) {
      line.flags |= line_flag::rank_mismatch;
    }
    if (!context_.rank_from_process) line.wrapper_rank = rank;
  }

  static void take_header(Line& line, const LogHeader& header) {
    line.body_begin += static_cast<std::uint32_t>(header.size);
    line.severity = header.severity;
    if (!header.level.empty()) {
      line.meta.push_back({"level", std::string(header.level), false});
    }
    if (!header.file.empty()) {
      line.callsite.reserve(header.file.size() + 1 + header.file_line.size());
      line.callsite.append(header.file).append(":").append(header.file_line);
    }
  }

  // What a rule found under the same name says more.
  static void add_header_fields(Line& line, const LogHeader& header) {
    for (std::size_t i = 0; i < header.field_count; ++i) {
      const LogHeader::Field& field = header.fields[i];
      if (!has_meta(line, field.key)) {
        line.meta.push_back({std::string(field.key), field.typed(), false});
      }
    }
  }
  static bool has_meta(const Line& line, std::string_view key) {
    return std::any_of(line.meta.begin(), line.meta.end(),
                       [&](const MetaPair& pair) { return pair.key == key; });
  }

  // The record may end here: what rules find in all of it belongs to this line.
  void take_record(Line& line, std::string_view text) {
    Extraction found;
    rules_->apply_record(text, context_.stream_name, found);
    if (found.severity) line.severity = std::max(line.severity, *found.severity);
    for (MetaPair& pair : found.meta) {
      if (!has_meta(line, pair.key)) line.meta.push_back(std::move(pair));
    }
    for (EventMark& event : found.events) {
      const bool known =
          std::find(line.events.begin(), line.events.end(), event) != line.events.end();
      if (!known) line.events.push_back(std::move(event));
    }
  }

  void take_found(Line& line, std::string_view body) {
    line.template_id = template_of_body(body);
    if (found_.empty()) return;
    if (found_.severity) line.severity = std::max(line.severity, *found_.severity);
    std::move(found_.meta.begin(), found_.meta.end(), std::back_inserter(line.meta));
    line.events.swap(found_.events);
    line.iteration = found_.iteration;
    if (found_.iteration && found_.carry_iteration) state_.iteration = found_.iteration;
  }

  void carry_iteration(Line& line) {
    if (line.iteration || !state_.iteration) return;
    line.iteration = state_.iteration;
    line.flags |= line_flag::derived_iteration;
  }

  TemplateId template_of_body(std::string_view body) {
    mask_body(body, masked_);
    return fingerprint(masked_.text);
  }

  // Lines of an import that come before its first time take that time.
  void date_first_lines(std::size_t first) {
    for (std::size_t i = first; i < out_->lines.size(); ++i) {
      if (!out_->lines[i].has(line_flag::derived_time)) {
        for (std::size_t k = first; k < i; ++k) out_->lines[k].time = out_->lines[i].time;
        return;
      }
    }
  }

  StreamContext context_;
  const RuleSet* rules_;
  ParserState state_;
  LineSplitter splitter_;
  HeaderReader headers_;
  UnixNanos observed_ = 0;
  ParsedLines* out_ = nullptr;
  Extraction found_;
  MaskedBody masked_;
  std::string stripped_;
};

}  // namespace

Result<std::unique_ptr<StreamParser>> StreamParser::make(StreamContext context,
                                                         const RuleSet& rules, LongLinePool& pool,
                                                         std::uint64_t position,
                                                         std::string_view state) {
  ParserState decoded;
  if (!state.empty()) {
    LGR_TRY(decoded, decode_state(state));
  }
  return std::unique_ptr<StreamParser>(
      std::make_unique<Parser>(std::move(context), rules, pool, position, std::move(decoded)));
}

}  // namespace logarithm
