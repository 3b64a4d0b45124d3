#pragma once

#include "aggregator/query/job_view.h"
#include "aggregator/triage/verdict.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

// Reads the text of the first line of each evidence: of the job, else of `host_view` (null when
// there is none). What is not there any more stays empty.
Status fill_texts(BlockingToken& token, JobView& view, JobView* host_view, Verdict& verdict);

}  // namespace logarithm::aggregator::triage
