#pragma once

#include <cstddef>
#include <string>

#include "aggregator/http/json_text.h"
#include "aggregator/query/completeness.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// What the agents have told lately, as answers need it. On the I/O thread.
class AgentsView {
 public:
  virtual ~AgentsView() = default;
  // For one answer: as of now.
  virtual ProgressLookup progress_of(const JobKey& job) = 0;
  // The same over all jobs of a tenant. What it gives may be called from any thread.
  virtual ProgressLookup progress_of_tenant(const std::string& tenant);
  virtual std::size_t connected() const = 0;
  // The `agents` array of /api/v1/status for one tenant.
  virtual void write_agents(JsonWriter& out, const std::string& tenant) = 0;
};

inline ProgressLookup AgentsView::progress_of_tenant(const std::string&) {
  return [](const StreamId&) { return std::optional<StreamProgress>(); };
}

}  // namespace logarithm::aggregator
