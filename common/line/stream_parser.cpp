#include "common/line/stream_parser.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "common/line/ansi.h"
#include "common/line/event_marks.h"
#include "common/line/header_fields.h"
#include "common/line/header_reader.h"
#include "common/line/intake.h"
#include "common/line/known_lines.h"
#include "common/line/line_splitter.h"
#include "common/line/log_header.h"
#include "common/line/log_level.h"
#include "common/line/order_time.h"
#include "common/line/parser_state.h"
#include "common/line/record_joiner.h"
#include "common/line/redact.h"
#include "common/line/transport.h"
#include "common/line/unwrap.h"
#include "common/line/wrapper_fields.h"
#include "common/line/wrapper_time.h"
#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

Intake::State intake_state(const ParserState& state) {
  Intake::State out;
  out.file_line = state.file_line;
  out.evidence = state.evidence;
  for (std::size_t i = 0; i < out.piece_left.size(); ++i) {
    out.piece_left[i] = state.pieces_left[i].has_value();
  }
  return out;
}

// Daemons that leave time and name to syslog print the level first: `fatal: text`, `debug2: text`.
Severity sender_level(std::string_view text) {
  constexpr std::size_t kLongest = 10;
  const std::size_t colon = text.substr(0, kLongest).find(": ");
  if (colon == std::string_view::npos) return Severity::unset;
  const auto found = level_word(text.substr(0, colon));
  return found && found->plain ? found->severity : Severity::unset;
}

class Parser final : public StreamParser, private Intake::Sink {
 public:
  Parser(StreamContext context, const RuleSet& rules, LongLinePool& pool, std::uint64_t position,
         ParserState state)
      : context_(std::move(context)),
        rules_(&rules),
        rules_context_(rules.context(context_.stream_name)),
        state_(std::move(state)),
        intake_(pool, *this, intake_state(state_)),
        splitter_(pool, intake_, position, state_.piece.has_value()) {}

  void feed(std::string_view bytes, UnixNanos observed, ParsedLines& out) override {
    const FirstLines first = begin(observed, out);
    intake_.begin(observed_);
    splitter_.feed(bytes, observed_);
    intake_.end(splitter_.next_read());
    date(first);
  }

  void flush(Flush why, UnixNanos observed, ParsedLines& out) override {
    const FirstLines first = begin(observed, out);
    if (why == Flush::closed) {
      splitter_.end(observed_);
    } else {
      splitter_.flush(observed_);
    }
    intake_.release(why == Flush::closed);
    date(first);
    if (why == Flush::closed) end_context();
  }

  void skip_to(std::uint64_t offset, std::string_view reason, UnixNanos observed,
               ParsedLines& out) override {
    if (offset <= splitter_.next_read()) return;
    begin(observed, out);
    intake_.release(false);
    splitter_.skip_to(offset, reason, observed_);
    intake_.release(false);
    end_context();
  }

  void set_context(StreamContext context) override {
    context_ = std::move(context);
    rules_context_ = rules_->context(context_.stream_name);
  }
  void set_rules(const RuleSet& rules) override {
    rules_ = &rules;
    rules_context_ = rules_->context(context_.stream_name);
  }
  std::uint64_t position() const override { return intake_.position(splitter_.position()); }
  std::uint64_t next_read() const override { return splitter_.next_read(); }
  std::string state() const override {
    const Intake::State intake = intake_.state();
    ParserState state = state_;
    state.file_line = intake.file_line;
    state.evidence = intake.evidence;
    return encode_state(state);
  }

 private:
  // The lines that one call makes: those of an import before its first time are dated by it.
  struct FirstLines {
    std::size_t at = 0;
    bool timeless = false;
  };

  FirstLines begin(UnixNanos observed, ParsedLines& out) {
    observed_ = std::max<UnixNanos>(observed, 0);
    out_ = &out;
    return {out.lines.size(), context_.imported && !state_.last_time};
  }
  void date(const FirstLines& first) {
    if (first.timeless && state_.last_time) date_first_lines(first.at);
  }

  // What comes next does not hang together with what was.
  void end_context() {
    state_.piece.reset();
    state_.pieces_left = {};
    state_.record = OpenRecord();
    intake_.forget();
    state_.parked.clear();
  }

  Line& new_line() override { return out_->add_line(); }
  void on_whole_gap(const Gap& gap) override { out_->gaps.push_back(gap); }

  // The text behind the container's wrapper, without escape sequences; `base` is where it begins in
  // plain_of(line).
  std::string_view plain_text(const Line& line, const LineOrigin& origin, bool& escapes,
                              std::size_t& base) {
    std::string_view text = line.raw;
    base = origin.prefix;
    if (line.transport != transport::plain) {
      decoded_ = decode_transport(line.raw, line.transport, line.extents);
      text = decoded_;
      base = 0;
    }
    escapes = has_escape(text);
    if (escapes) {
      stripped_ = strip_ansi(text);
      text = stripped_;
    }
    return text.substr(std::min(base, text.size()));
  }

  WeakSign weak_wrapper_of(const Line& line, const LineOrigin& origin) override {
    bool escapes = false;
    std::size_t base = 0;
    const std::string_view text = plain_text(line, origin, escapes, base);
    KnownHosts hosts = state_.hosts;
    unwrapper_.unwrap(text, origin.contained ? 1 : 0, WeakWrapper::none, false, hosts, wrapped_);
    return wrapped_.sign();
  }

  UnwrapMode unwrap_mode(const Line& line, const LineOrigin& origin) const {
    const bool first = origin.contained || line.transport == transport::journal_json;
    return {first ? 1u : 0u, intake_.accepted(), context_.slurm_step};
  }

  void recall(std::string_view text, const Line& line, const LineOrigin& origin) {
    known_.recall(text, unwrap_mode(line, origin), rules_context_, state_.hosts);
  }

  // Masks secrets and removes what is no text. Gives the text behind the container's wrapper, which
  // begins at `base`.
  std::string_view inspect(Line& line, const LineOrigin& origin, std::size_t& base) {
    // Secrets are gone before anything looks at the line.
    if (rules_->redacts()) redact(line, origin.prefix, *rules_, secrets_, out_->gaps);
    bool escapes = false;
    const std::string_view text = plain_text(line, origin, escapes, base);
    if (escapes) line.flags |= line_flag::ansi;
    if (!valid_utf8(line.transport == transport::plain ? std::string_view(line.raw) : text)) {
      line.flags |= line_flag::invalid_utf8;
    }
    return text;
  }

  void on_line(Line& line, const LineOrigin& origin) override {
    std::size_t base = 0;
    std::string_view text;
    // A line of a known shape may be known to hold no secret and no escape sequence.
    const bool bare = line.transport == transport::plain && origin.prefix == 0;
    if (bare) recall(line.raw, line, origin);
    if (bare && known_.line() != nullptr && known_.line()->holds_no_secret) {
      text = line.raw;
      if (!known_.line()->valid_utf8) line.flags |= line_flag::invalid_utf8;
    } else {
      text = inspect(line, origin, base);
      if (!bare || line.has(line_flag::redacted)) recall(text, line, origin);
      if (line.has(line_flag::redacted | line_flag::ansi)) known_.keep_nothing();
    }
    if (origin.flag != '\0') line.meta.push_back({"flag", std::string(1, origin.flag), false});
    line.text_begin = line.header_begin = line.body_begin = static_cast<std::uint32_t>(base);

    const auto output = static_cast<std::size_t>(origin.output);
    std::optional<OpenPiece>& left = state_.pieces_left[output];
    if (origin.bytes_glued && state_.piece) {
      known_.forget();
      read_glued(line, text, *state_.piece, origin);
    } else if (origin.piece_glued && left) {
      known_.forget();
      read_glued(line, text, *left, origin);
    } else {
      read_line(line, text, origin);
      known_.learn(text, unwrap_mode(line, origin), *rules_, context_.stream_name, state_.hosts);
    }
    state_.piece.reset();
    if (origin.continues) {
      line.flags |= line_flag::partial;
      left = OpenPiece{line.head, line.severity, line.callsite, state_.writers[output]};
    } else if (line.has(line_flag::partial)) {
      state_.piece = OpenPiece{line.head, line.severity, line.callsite, state_.writers[output]};
      if (origin.contained) left.reset();
    } else if (origin.contained) {
      left.reset();
    }
  }

  // The rest of a line whose beginning left earlier: no header can be here.
  void read_glued(Line& line, std::string_view text, const OpenPiece& piece,
                  const LineOrigin& origin) {
    line.flags |= line_flag::glued;
    state_.writers[static_cast<std::size_t>(origin.output)] = piece.writer;
    extract(line, text);
    take_found(line, piece.writer.lane);
    set_order_time(line, found_.time, context_, state_);
    line.head = piece.head;
    if (piece.writer.rank) take_rank(line, *piece.writer.rank);
    inherit_fields(line, piece.severity, piece.callsite);
    carry_iteration(line, piece.writer.lane);
  }

  // Reads the wrappers in front of `text`, and gives the line what they say.
  void take_wrappers(Line& line, std::string_view text, const LineOrigin& origin) {
    const bool whole_line = line.transport != transport::journal_json;
    const LineReading* const known = known_.line();
    if (known == nullptr || !known->unwrap(text, wrapped_)) {
      const UnwrapMode mode = unwrap_mode(line, origin);
      unwrapper_.unwrap(text, mode.layers, mode.accepted, mode.label, state_.hosts, wrapped_);
      if (known != nullptr && known->wrapped() != wrapped_.size) known_.forget();
    }
    line.text_begin += static_cast<std::uint32_t>(wrapped_.text_begin);
    line.header_begin += static_cast<std::uint32_t>(wrapped_.size);
    if (wrapped_.output != Output::unset) line.output = wrapped_.output;
    if (origin.time) wrapped_.time = origin.time;
    if (!whole_line) take_journal(line, wrapped_);
    add_wrapper_fields(line, wrapped_);

    if (!context_.process_rank) take_bare_rank(text.substr(wrapped_.size), wrapped_);
    LastWriter& last = state_.writers[static_cast<std::size_t>(origin.output)];
    if (!origin.inside || wrapped_.lane) last = {wrapped_.rank, lane_of(wrapped_, origin)};
    if (last.rank) take_rank(line, *last.rank);
    if (wrapped_.ranks_differ) line.flags |= line_flag::rank_mismatch;
  }

  void read_line(Line& line, std::string_view text, const LineOrigin& origin) {
    RecordFacts facts;
    take_wrappers(line, text, origin);
    facts.rank = state_.writers[static_cast<std::size_t>(origin.output)].lane;
    text.remove_prefix(wrapped_.size);
    line.body_begin = line.header_begin;
    const LineReading* const known = known_.line();
    // In one piece: a header is large.
    const std::optional<LogHeader> read = known == nullptr ? headers_.read(text) : std::nullopt;
    const LogHeader* header = read ? &*read : nullptr;
    if (known != nullptr && known->has_header()) header = &known_.header();
    if (header != nullptr) take_header(line, *header);
    if (line.severity == Severity::unset) line.severity = wrapped_.severity;
    if (header == nullptr && line.severity == Severity::unset && wrapped_.text_begin > 0) {
      line.severity = sender_level(text);
    }
    facts.has_header = header != nullptr;
    facts.report_row = header != nullptr && header->report_row;
    facts.body = text.substr(line.body_begin - line.header_begin);
    OpenRecord& record = record_of(state_, facts.rank);

    extract(line, facts.body);
    if (is_traceback_frame(record, facts)) {
      // Source text that a traceback quotes is no report of anything.
      found_.events.clear();
      found_.severity.reset();
      found_.iteration.reset();
    }
    facts.has_iteration = found_.iteration.has_value();
    facts.stands_alone = wrapped_.message || found_.time.has_value();
    take_found(line, facts.rank);
    if (header != nullptr) add_header_fields(line, *header);
    const std::optional<PrintedTime>& own =
        header != nullptr && header->time ? header->time : std::as_const(found_.time);
    // Nearly always no wrapper prints a time.
    if (wrapped_.time) {
      set_order_time(line, merge_times(own, wrapped_.time, line.observed), context_, state_);
    } else {
      set_order_time(line, own, context_, state_);
    }
    if (join_record(line, facts, record) == Joined::complete) take_record(line, record.text);
    carry_iteration(line, facts.rank);
  }

  void take_rank(Line& line, std::int32_t rank) {
    if (context_.process_rank && *context_.process_rank != rank) {
      line.flags |= line_flag::rank_mismatch;
    }
    if (!context_.rank_from_process) line.wrapper_rank = rank;
  }

  // The record may end here: what rules find in all of it belongs to this line.
  void take_record(Line& line, std::string_view text) {
    Extraction found;
    rules_->apply_record(text, context_.stream_name, found);
    if (found.severity) line.severity = std::max(line.severity, *found.severity);
    if (found.time && line.has(line_flag::derived_time)) {
      line.flags &= ~line_flag::derived_time;
      set_order_time(line, found.time, context_, state_);
    }
    for (MetaPair& pair : found.meta) {
      if (!has_meta(line, pair.key)) line.meta.push_back(std::move(pair));
    }
    for (const EventMark& event : found.events) add_event(line.events, event);
    settle_events(line.events);
  }

  void extract(Line& line, std::string_view body) {
    const LineReading* const known = known_.line();
    if (known == nullptr) {
      line.template_id = rules_->read(body, context_.stream_name, found_);
      return;
    }
    rules_->read_known(known->body, body, context_.stream_name, found_);
    line.template_id = known->body.id;
  }

  void take_found(Line& line, std::optional<std::int32_t> lane) {
    if (found_.empty()) return;
    if (found_.severity) line.severity = std::max(line.severity, *found_.severity);
    // What a rule found under the same name says more than a wrapper.
    if (!line.meta.empty() && !found_.meta.empty()) {
      std::erase_if(line.meta, [this](const MetaPair& pair) {
        return std::any_of(found_.meta.begin(), found_.meta.end(),
                           [&](const MetaPair& other) { return other.key == pair.key; });
      });
    }
    if (line.meta.empty()) {
      line.meta.swap(found_.meta);
    } else {
      line.meta.reserve(line.meta.size() + found_.meta.size());
      std::move(found_.meta.begin(), found_.meta.end(), std::back_inserter(line.meta));
    }
    line.events.swap(found_.events);
    if (line.callsite.empty()) line.callsite.swap(found_.callsite);
    if (found_.mapping) {
      out_->mappings.push_back({line.offset, std::move(*found_.mapping)});
    }
    line.iteration = found_.iteration;
    if (found_.iteration && found_.carry_iteration) {
      state_.iteration = found_.iteration;
      if (lane) {
        state_.lane_iterations.set(*lane, *found_.iteration);
      } else {
        state_.lane_iterations.clear();
      }
    }
  }

  void carry_iteration(Line& line, std::optional<std::int32_t> lane) {
    if (line.iteration || !state_.iteration) return;
    const auto own = lane ? state_.lane_iterations.of(*lane) : std::nullopt;
    line.iteration = own ? own : state_.iteration;
    line.flags |= line_flag::derived_iteration;
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
  std::uint64_t rules_context_;
  ParserState state_;
  Intake intake_;
  LineSplitter splitter_;
  HeaderReader headers_;
  KnownLines known_;
  UnixNanos observed_ = 0;
  ParsedLines* out_ = nullptr;
  Extraction found_;
  std::vector<RuleSet::Secret> secrets_;
  Unwrapper unwrapper_;
  Wrapped wrapped_;
  std::string decoded_, stripped_;
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
