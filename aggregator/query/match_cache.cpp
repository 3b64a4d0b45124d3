#include "aggregator/query/match_cache.h"

#include <algorithm>
#include <bit>

#include "aggregator/query/judge.h"

namespace logarithm::aggregator {
namespace {

using Kind = Predicate::Kind;

// Of the columns of a block alone; what is derived or joined when it is read is none of them.
bool lies_in_block(Field field) {
  switch (field) {
    case Field::text:
    case Field::meta:
    case Field::severity:
    case Field::callsite:
    case Field::template_id: return true;
    default: return false;
  }
}

void add_number(std::string& out, std::uint64_t number) { out += std::to_string(number) + ","; }

void add_text(std::string& out, std::string_view text) {
  add_number(out, text.size());
  out += text;
}

void add_leaf(const Predicate& predicate, std::string& out) {
  out += 'L';
  add_number(out, static_cast<std::uint64_t>(predicate.kind));
  add_number(out, static_cast<std::uint64_t>(predicate.field.field));
  add_text(out, predicate.field.key);
  add_text(out, predicate.text);
  add_text(out, predicate.regex ? predicate.regex->pattern() : "");
  add_number(out, static_cast<std::uint64_t>(predicate.compare));
  add_number(out, predicate.number.index());
  if (const auto* real = std::get_if<double>(&predicate.number)) {
    add_number(out, std::bit_cast<std::uint64_t>(*real));
  } else {
    add_number(out, static_cast<std::uint64_t>(std::get<std::int64_t>(predicate.number)));
  }
  add_number(out, predicate.intervals.size());
  for (const Interval& in : predicate.intervals) {
    add_number(out, static_cast<std::uint64_t>(in.min));
    add_number(out, static_cast<std::uint64_t>(in.max));
  }
  add_number(out, static_cast<std::uint64_t>(predicate.severity));
}

constexpr std::string_view kAlways = "1", kNever = "0";

std::optional<std::string> question_of(const Predicate& predicate, const StreamJoin& join) {
  const Verdict verdict = judge(predicate, join, nullptr, nullptr);
  if (verdict != Verdict::maybe) {
    return std::string(verdict == Verdict::always ? kAlways : kNever);
  }
  char kind = 'L';
  switch (predicate.kind) {
    case Kind::all_of: kind = '&'; break;
    case Kind::any_of: kind = '|'; break;
    case Kind::negation: kind = '!'; break;
    default: break;
  }
  std::string out(1, kind);
  if (kind == 'L') {
    if (!lies_in_block(predicate.field.field)) return std::nullopt;
    add_leaf(predicate, out);
    return out;
  }
  std::vector<std::string> parts;
  for (const Predicate& child : predicate.children) {
    auto part = question_of(child, join);
    if (!part) return std::nullopt;
    // What says nothing here: the same question as without it.
    const bool empty = (kind == '&' && *part == kAlways) || (kind == '|' && *part == kNever);
    if (!empty) parts.push_back(std::move(*part));
  }
  if (kind != '!' && parts.size() == 1) return std::move(parts.front());
  add_number(out, parts.size());
  for (const std::string& part : parts) out += part;
  return out;
}

}  // namespace

std::optional<std::string> block_question(const Predicate& predicate, const StreamJoin& join) {
  return question_of(predicate, join);
}

// Guarded by the cache's mutex.
class MatchCache::Question {
 public:
  Key key;
  std::map<BlockKey, Marks> blocks;
  std::size_t bytes = 0, own = 0;  // of all; without the blocks
  std::uint64_t used = 0;
  bool kept = true;  // false: too much, or forgotten
};

MatchCache::Handle MatchCache::open(const JobKey& job, const std::string& question) {
  std::lock_guard lock(mutex_);
  Handle& handle = questions_[Key(job, question)];
  if (handle == nullptr) {
    handle = std::make_shared<Question>();
    handle->key = Key(job, question);
    handle->own = sizeof(Question) + 2 * (question.size() + job.job.size());
    handle->bytes = handle->own;
    bytes_ += handle->bytes;
  }
  handle->used = ++clock_;
  const Handle out = handle;
  make_room(out.get());
  return out;
}

MatchCache::Marks MatchCache::find(const Handle& question, const BlockKey& block) {
  std::lock_guard lock(mutex_);
  const auto at = question->blocks.find(block);
  const bool known = at != question->blocks.end();
  ++(known ? hits_ : misses_);
  return known ? at->second : nullptr;
}

void MatchCache::add(const Handle& question, const BlockKey& block, Marks marks) {
  constexpr std::size_t kEach = sizeof(BlockKey) + 160;  // a node, the vector and their counts
  std::lock_guard lock(mutex_);
  if (!question->kept) return;
  const std::size_t bytes = kEach + marks->size() * sizeof(RowMark);
  if (!question->blocks.emplace(block, std::move(marks)).second) return;
  question->bytes += bytes;
  bytes_ += bytes;
  if (question->bytes > most_ / 4) {
    // It stays known as what is not worth keeping, until it is the oldest.
    question->kept = false;
    question->blocks.clear();
    bytes_ -= question->bytes - question->own;
    question->bytes = question->own;
  }
  make_room(question.get());
}

void MatchCache::make_room(const Question* but) {
  while (bytes_ > most_) {
    auto oldest = questions_.end();
    for (auto at = questions_.begin(); at != questions_.end(); ++at) {
      if (at->second.get() == but) continue;
      if (oldest == questions_.end() || at->second->used < oldest->second->used) oldest = at;
    }
    if (oldest == questions_.end()) return;
    oldest->second->kept = false;
    bytes_ -= oldest->second->bytes;
    questions_.erase(oldest);
  }
}

std::size_t MatchCache::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace logarithm::aggregator
