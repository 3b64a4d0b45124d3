#pragma once

#include "aggregator/query/job_view.h"
#include "aggregator/triage/block_survey.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

// Notes which of the newest lines of a block speak of a checkpoint: by their templates. Where a
// block holds too few lines of a kind for a template, a rank's last ones are read: these tell what
// it was about to do. Error{corrupt} for damage.
Status note_checkpoints(BlockingToken& token, JobView& view, const BlockRef& block,
                        BlockSurvey& survey);

}  // namespace logarithm::aggregator::triage
