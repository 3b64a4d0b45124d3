#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "aggregator/compare/history.h"
#include "aggregator/compare/rank_survey.h"
#include "aggregator/groups/template_groups.h"

namespace logarithm::aggregator {

// Small indices for groups, shared by histories that are compared with each other.
struct GroupIndex {
  std::vector<TemplateId> ids;
  std::unordered_map<TemplateId, std::uint32_t> index;
  std::uint32_t of(TemplateId group);
};

// Turns a history of templates (indices of `templates`) into one of groups.
void regroup(History& history, const std::vector<TemplateSeen>& templates,
             const TemplateGroups& groups, GroupIndex& index);

}  // namespace logarithm::aggregator
