#include "aggregator/compare/regroup.h"

#include <algorithm>
#include <map>

namespace logarithm::aggregator {

std::uint32_t GroupIndex::of(TemplateId group) {
  const auto [at, fresh] = index.try_emplace(group, static_cast<std::uint32_t>(ids.size()));
  if (fresh) ids.push_back(group);
  return at->second;
}

void regroup(History& history, const std::vector<TemplateSeen>& templates,
             const TemplateGroups& groups, GroupIndex& index) {
  std::vector<GroupFacts> facts;
  std::vector<std::uint32_t> group_of_template;
  for (const TemplateSeen& seen : templates) {
    const std::uint32_t group = index.of(groups.group_of(seen.id));
    group_of_template.push_back(group);
    if (facts.size() <= group) facts.resize(group + 1);
    GroupFacts& sum = facts[group];
    sum.severity = std::max(sum.severity, seen.facts.severity);
    sum.marked = sum.marked || seen.facts.marked;
    sum.follows = sum.follows || seen.facts.follows;
    sum.says_iteration = sum.says_iteration || seen.facts.says_iteration;
    sum.lines += seen.facts.lines;
    sum.place_sum += seen.facts.place_sum;
  }
  BagBook bags;
  std::vector<std::uint32_t> as_groups;
  for (std::size_t bag = 0; bag < history.bags.size(); ++bag) {
    std::map<std::uint32_t, std::uint32_t> counts;
    for (const auto& [template_index, count] : history.bags[static_cast<std::uint32_t>(bag)]) {
      counts[group_of_template[template_index]] += count;
    }
    as_groups.push_back(bags.intern(Bag(counts.begin(), counts.end())));
  }
  for (RankHistory& rank : history.ranks) {
    for (Cell& cell : rank.cells) cell.bag = as_groups[cell.bag];
  }
  history.bags = std::move(bags);
  history.groups = std::move(facts);
}

}  // namespace logarithm::aggregator
