#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/model/process.h"
#include "common/model/stream.h"

// The JSON texts of the columns `facts`; see common/model/model_json.h. Error{corrupt} for a text
// that is none.
namespace logarithm::aggregator {

std::string to_text(const ProcessInfo& process);
std::string to_text(const StreamAttributes& attributes);
Result<ProcessInfo> parse_process(std::string_view text);
Result<StreamAttributes> parse_attributes(std::string_view text);

}  // namespace logarithm::aggregator
