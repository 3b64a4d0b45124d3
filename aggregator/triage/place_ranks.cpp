#include "aggregator/triage/place_ranks.h"

#include <charconv>

namespace logarithm::aggregator::triage {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::optional<std::int64_t> pid_of(const StreamJoin& join) {
  const auto label = join.attributes->labels.find("pid");
  if (label == join.attributes->labels.end()) return std::nullopt;
  std::int64_t pid = 0;
  const std::string& text = label->second;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return pid;
}

std::optional<std::int32_t> as_rank(std::optional<std::int64_t> number) {
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

// "rank 2 of 4", not "node rank 0 of 2".
bool introduces(const EventFact& event) {
  if (event.kind == "nccl_init") return true;
  const std::string of = event.word("rank_of");
  return event.kind == "rank_named" && (of.empty() || of == "global" || of == "world");
}

}  // namespace

std::string place_of(const StreamJoin& join) {
  const auto& paths = join.attributes->paths;
  if (!paths.empty() && join.attributes->local_rank) return directory_of(paths.front());
  if (const auto pid = pid_of(join); pid && !paths.empty()) {
    return directory_of(paths.front()) + "/" + std::to_string(*pid);
  }
  return join.stream_text;
}

void PlaceRanks::add(const StreamJoin& join, const BlockSurvey& survey) {
  const std::string place = place_of(join);
  if (!join.rank) {
    if (join.attributes->local_rank) local_[place] = *join.attributes->local_rank;
    if (const auto pid = pid_of(join)) pids_[place] = *pid;
    for (const auto& [wrapper_rank, ranks] : survey.ranks) {
      if (wrapper_rank) named_[place].insert(*wrapper_rank);
    }
  }
  for (const BlockSurvey::Mention& mention : survey.mentions) {
    if (const auto rank = as_rank(mention.rank)) mentioned_[mention.pid].insert(*rank);
  }
  for (const BlockSurvey::Event& event : survey.events) {
    const auto rank = as_rank(event.fact.number("rank"));
    if (!rank) continue;
    const auto local = event.fact.number("local_rank");
    if (event.fact.kind == "child_failed" && local && !join.attributes->paths.empty()) {
      reported_[directory_of(join.attributes->paths.front())].insert(
          *rank - static_cast<std::int32_t>(*local));
    }
    if (!introduces(event.fact)) continue;
    // Sub-groups have ranks of their own; the whole group is named first.
    if (!join.rank && !event.wrapper_rank) introduced_.emplace(place, *rank);
    if (const auto pid = event.fact.number("pid"); pid && event.fact.kind == "rank_named") {
      own_pids_[*rank].insert(*pid);
    }
    if (event.fact.kind != "nccl_init") continue;
    const std::optional<std::int32_t> own = join.rank ? join.rank : event.wrapper_rank;
    hosts_.emplace(own.value_or(*rank), event.fact.word("host"));
  }
}

std::map<std::int32_t, std::set<std::int64_t>> PlaceRanks::pids(
    const std::map<std::string, std::int32_t>& ranks) const {
  auto out = own_pids_;
  for (const auto& [pid, named] : mentioned_) {
    if (named.size() == 1) out[*named.begin()].insert(pid);
  }
  for (const auto& [place, pid] : pids_) {
    const auto rank = ranks.find(place);
    if (rank != ranks.end()) out[rank->second].insert(pid);
  }
  return out;
}

std::map<std::string, std::int32_t> PlaceRanks::infer() const {
  Named out;
  for (const auto& [place, ranks] : named_) {
    if (ranks.size() == 1) out.emplace(place, *ranks.begin());
  }
  for (const auto& [place, rank] : introduced_) {
    // Several ranks speak there: the introduction was one's, the place is all's.
    const auto named = named_.find(place);
    if (named == named_.end() || named->second.empty()) out.emplace(place, rank);
  }
  for (const auto& [place, pid] : pids_) {
    const auto ranks = mentioned_.find(pid);
    if (ranks != mentioned_.end() && ranks->second.size() == 1) {
      out.emplace(place, *ranks->second.begin());
    }
  }
  add_hosts_by_local_rank(out);
  return out;
}

void PlaceRanks::add_hosts_by_local_rank(Named& out) const {
  std::map<std::string, std::set<std::int32_t>> firsts;  // directory -> first rank, by all that say
  std::set<std::int32_t> sizes;
  std::map<std::string, std::int32_t> size;
  for (const auto& [place, local] : local_) {
    const std::string directory = directory_of(place);
    auto& said = firsts[directory];
    size[directory] = std::max(size[directory], local + 1);
    const auto known = out.find(place);
    if (known != out.end()) said.insert(known->second - local);
    for (const auto& [launcher, first] : reported_) {
      if (directory.starts_with(launcher + "/")) said.insert(first.begin(), first.end());
    }
  }
  for (const auto& [directory, count] : size) sizes.insert(count);
  // The one host that nobody spoke of has the ranks that are left.
  std::set<std::int32_t> left;
  std::string silent;
  std::size_t unknown = 0;
  if (sizes.size() == 1) {
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      left.insert(static_cast<std::int32_t>(i) * *sizes.begin());
    }
  }
  for (const auto& [directory, said] : firsts) {
    if (said.size() == 1) left.erase(*said.begin());
    if (said.empty()) {
      ++unknown;
      silent = directory;
    }
  }
  if (unknown == 1 && left.size() == 1) firsts[silent] = left;
  for (const auto& [place, local] : local_) {
    const auto& said = firsts[directory_of(place)];
    if (said.size() == 1 && *said.begin() >= 0) out.emplace(place, *said.begin() + local);
  }
}

}  // namespace logarithm::aggregator::triage
