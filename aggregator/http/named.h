#pragma once

#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "common/base/result.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

// The attempts, ranks, hosts and streams that a request names. A page of lines of a rank that is
// not there is empty; a sum or a comparison of it would look like a finding, so there it is a
// mistake.
struct Named {
  std::vector<Interval> attempts, ranks;
  std::vector<Interval> compared;  // ranks, of which each must be there
  std::vector<std::string> hosts, streams;
};
// Of a request whose parameters can be read: `attempt`, `rank`, `host`, `stream`; for comparisons
// also `ranks` and the classes of `peers`.
Named named_in(const net::Request& request);
// Error{not_found} for what the job does not have, with what it has. Of a filter's list, and of a
// range, one that is there is enough.
Status check_named(const JobView& view, const Named& named);

}  // namespace logarithm::aggregator
