#include "agent/uplink/oracle.h"

#include <algorithm>

namespace logarithm::agent {

void OracleBook::ask(const StreamBase& base, const std::string& job) {
  const std::lock_guard lock(mutex_);
  if (questions_.size() >= kMaxAnswers) {
    std::erase_if(questions_, [](const auto& entry) { return entry.second.answer.has_value(); });
  }
  questions_[{base, job}] = {};
}

std::optional<wire::StreamState> OracleBook::answer(const StreamBase& base,
                                                    const std::string& job) const {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find({base, job});
  return found == questions_.end() ? std::nullopt : found->second.answer;
}

void OracleBook::drop(const StreamBase& base, const std::string& job) {
  const std::lock_guard lock(mutex_);
  questions_.erase({base, job});
}

void OracleBook::connection_made() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, question] : questions_) question.sent = question.answer.has_value();
}

std::vector<wire::StreamOpen> OracleBook::take() {
  const std::lock_guard lock(mutex_);
  std::vector<wire::StreamOpen> out;
  for (auto& [key, question] : questions_) {
    if (question.sent) continue;
    question.sent = true;
    wire::StreamOpen open;
    open.base = key.first;
    open.job = key.second;
    out.push_back(std::move(open));
  }
  return out;
}

void OracleBook::put(wire::StreamState state) {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find({state.base, state.job});
  if (found != questions_.end()) found->second.answer = std::move(state);
}

void OracleBook::put_leased_elsewhere(const StreamBase& base, const std::string& job) {
  const std::lock_guard lock(mutex_);
  Question& question = questions_[{base, job}];
  if (!question.answer) question.answer.emplace();
  question.sent = true;
  question.answer->base = base;
  question.answer->job = job;
  question.answer->leased_elsewhere = true;
}

bool OracleBook::has_open() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(questions_.begin(), questions_.end(),
                     [](const auto& entry) { return !entry.second.answer; });
}

}  // namespace logarithm::agent
