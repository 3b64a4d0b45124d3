#include "aggregator/triage/reports.h"

#include <charconv>
#include <cstdio>

namespace logarithm::aggregator::triage {
namespace {

constexpr std::int64_t kMaxRanks = 65536;

bool may_be_on(const RankFacts& rank, const std::string& host) {
  if (rank.host.empty() || host.empty() || rank.host == host) return true;
  // "gpu-n017" and "gpu-n017.cluster" are one host.
  const std::string &longer = rank.host.size() > host.size() ? rank.host : host,
                    &shorter = rank.host.size() > host.size() ? host : rank.host;
  return longer.starts_with(shorter + ".");
}

std::optional<std::int64_t> number_in(const std::string& text, int base = 10) {
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What NCCL's start-up lines say: pid and GPU of a rank.
struct Place {
  std::int64_t pid = 0;
  std::string host, pci;
};
std::map<std::int32_t, Place> places(const Facts& facts) {
  std::map<std::int32_t, Place> out;
  for (const EventFact& event : facts.events) {
    if (event.kind != "nccl_init") continue;
    const auto rank = event.rank ? std::optional<std::int64_t>(*event.rank) : event.number("rank");
    if (!rank) continue;
    Place& place = out[static_cast<std::int32_t>(*rank)];
    if (const auto pid = event.number("pid")) place.pid = *pid;
    if (!event.word("host").empty()) place.host = event.word("host");
    if (!event.word("bus_id").empty()) place.pci = normal_pci(event.word("bus_id"));
  }
  return out;
}

std::set<std::int32_t> by_pid(const Facts& facts, std::int64_t pid, const std::string& host) {
  std::set<std::int32_t> out;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.process && rank.process->pid == pid && may_be_on(rank, host)) out.insert(rank.rank);
  }
  if (!out.empty()) return out;
  for (const auto& [number, place] : places(facts)) {
    const RankFacts* rank = facts.find(number);
    if (place.pid != pid || rank == nullptr) continue;
    if (may_be_on(*rank, host) && (place.host.empty() || host.empty() || place.host == host)) {
      out.insert(number);
    }
  }
  if (!out.empty()) return out;
  for (const auto& [number, pids] : facts.pids) {
    const RankFacts* rank = facts.find(number);
    if (rank != nullptr && pids.contains(pid) && may_be_on(*rank, host)) out.insert(number);
  }
  return out;
}

std::set<std::int32_t> by_pci(const Facts& facts, const std::string& pci, const std::string& host) {
  std::set<std::int32_t> out;
  for (const RankFacts& rank : facts.ranks) {
    if (!rank.process || !may_be_on(rank, host)) continue;
    // More than one: it sees all GPUs of the host, so that says nothing.
    if (rank.process->gpus.size() != 1) continue;
    if (normal_pci(rank.process->gpus.front().pci) == pci) out.insert(rank.rank);
  }
  if (!out.empty()) return out;
  for (const auto& [number, place] : places(facts)) {
    const RankFacts* rank = facts.find(number);
    if (place.pci != pci || rank == nullptr || !may_be_on(*rank, host)) continue;
    if (place.host.empty() || host.empty() || place.host == host) out.insert(number);
  }
  return out;
}

// Nothing says where the ranks ran, and they fit on one host: then local ranks are ranks.
bool one_host(const Facts& facts) {
  constexpr std::int32_t kGpusOfAHost = 8;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.local_rank || !rank.host.empty() || rank.rank >= kGpusOfAHost) return false;
  }
  return true;
}

}  // namespace

std::set<std::int32_t> parse_ranks(const std::string& text) {
  std::set<std::int32_t> out;
  std::int64_t from = -1, value = -1;
  const auto flush = [&] {
    if (value >= 0) {
      const std::int64_t first = from >= 0 ? from : value;
      for (std::int64_t i = first; i <= value && i < kMaxRanks; ++i) {
        out.insert(static_cast<std::int32_t>(i));
      }
    }
    from = value = -1;
  };
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      if (value < kMaxRanks) value = (value < 0 ? 0 : value * 10) + (c - '0');
    } else if (c == '-') {
      from = value;
      value = -1;
    } else {
      flush();
    }
  }
  flush();
  return out;
}

std::string normal_pci(const std::string& text) {
  std::vector<std::int64_t> parts;
  std::string piece;
  for (const char c : text + ":") {
    if (c == ':' || c == '.') {
      const auto value = number_in(piece, 16);
      if (!value) return "";
      parts.push_back(*value);
      piece.clear();
      if (c == '.') break;  // the function
    } else {
      piece += c;
    }
  }
  std::int64_t domain = 0, bus = 0, device = 0;
  if (parts.size() == 1) {  // bus, device and function in one number
    domain = parts[0] >> 20;
    bus = (parts[0] >> 12) & 0xFF;
    device = (parts[0] >> 4) & 0xFF;
  } else if (parts.size() == 2) {
    bus = parts[0];
    device = parts[1];
  } else if (parts.size() >= 3) {
    domain = parts[0];
    bus = parts[1];
    device = parts[2];
  } else {
    return "";
  }
  char out[40];
  std::snprintf(out, sizeof out, "%04llx:%02llx:%02llx", static_cast<unsigned long long>(domain),
                static_cast<unsigned long long>(bus), static_cast<unsigned long long>(device));
  return out;
}

std::set<std::int32_t> ranks_meant(const Facts& facts, const EventFact& event) {
  const std::string host = event.word("host").empty() ? event.host : event.word("host");
  std::set<std::int32_t> out;
  if (const auto pid = event.number("pid")) out = by_pid(facts, *pid, host);
  if (out.empty()) {
    const auto pid = number_in(event.word("pid"));
    if (pid) out = by_pid(facts, *pid, host);
  }
  if (out.empty() && !event.word("pci").empty()) {
    out = by_pci(facts, normal_pci(event.word("pci")), host);
  }
  return out;
}

std::vector<Report> reports_of(const Facts& facts) {
  std::vector<Report> out;
  for (const EventFact& event : facts.events) {
    if (event.kind != "child_failed" && !(event.kind == "killed" && event.klass == "cascade")) {
      continue;
    }
    Report report;
    report.event = &event;
    report.status = event.number("exitcode");
    if (const auto signal = event.number("signal")) report.status = -*signal;
    report.ranks = parse_ranks(event.word("ranks"));
    const std::string reason = event.word("reason");
    if (!report.status && (reason == "Killed" || reason == "Out Of Memory")) report.status = -9;
    if (!report.status && reason == "Segmentation fault") report.status = -11;
    if (report.ranks.empty()) report.ranks = ranks_meant(facts, event);
    if (report.ranks.empty() && event.rule != "mpi-abort") {
      if (const auto rank = event.number("rank")) {
        report.ranks.insert(static_cast<std::int32_t>(*rank));
      }
    }
    if (const auto local = event.number("local_rank"); local && report.ranks.empty()) {
      for (const RankFacts& rank : facts.ranks) {
        if (rank.local_rank == *local && may_be_on(rank, event.host))
          report.ranks.insert(rank.rank);
      }
      if (report.ranks.size() != 1) report.ranks.clear();  // one of several hosts
      if (report.ranks.empty() && one_host(facts)) {
        report.ranks.insert(static_cast<std::int32_t>(*local));
      }
    }
    std::erase_if(report.ranks, [&](std::int32_t rank) { return facts.find(rank) == nullptr; });
    if (!report.ranks.empty()) out.push_back(std::move(report));
  }
  return out;
}

}  // namespace logarithm::aggregator::triage
