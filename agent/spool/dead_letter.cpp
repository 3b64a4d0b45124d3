#include "agent/spool/dead_letter.h"

#include <nlohmann/json.hpp>

#include "common/model/model_json.h"

namespace logarithm::agent {

Status DeadLetter::add(BlockingToken& token, const wire::Refuse& refused, std::string_view block) {
  nlohmann::json json;
  json["stream"] = to_text(refused.stream);
  json["job"] = refused.job;
  json["first"] = refused.first;
  json["end"] = refused.end;
  json["code"] = std::string(wire::to_string(refused.code));
  json["message"] = refused.message;
  json["block"] = to_hex(block);
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  LGR_TRY(auto file, files_.open_append(token, path_));
  LGR_TRY(const std::uint64_t size, file->size(token));
  if (size + line.size() > max_bytes_) return Error(ErrorCode::no_space, path_ + ": cap reached");
  LGR_CHECK(file->append(token, line));
  return file->sync(token);
}

}  // namespace logarithm::agent
