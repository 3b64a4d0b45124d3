#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/ports/stream_log.h"

namespace logarithm::agent {

// Questions of the file thread and their answers from the io thread. Thread-safe. An answer is kept
// until it is asked for again; past kMaxAnswers answered questions are dropped.
class OracleBook {
 public:
  using Key = std::pair<StreamBase, std::string>;  // base and job

  void ask(const StreamBase& base, const std::string& job);
  std::optional<wire::StreamState> answer(const StreamBase& base, const std::string& job) const;

  void drop(const StreamBase& base, const std::string& job);

  void connection_made();                // open questions are asked again
  std::vector<wire::StreamOpen> take();  // questions to send
  void put(wire::StreamState state);
  // The lease of a base is somebody else's, as a refused block has shown.
  void put_leased_elsewhere(const StreamBase& base, const std::string& job);
  bool has_open() const;

 private:
  struct Question {
    bool sent = false;
    std::optional<wire::StreamState> answer;
  };
  static constexpr std::size_t kMaxAnswers = 20'000;

  mutable std::mutex mutex_;
  std::map<Key, Question> questions_;
};

}  // namespace logarithm::agent
