#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/types.h"

namespace logarithm::aggregator {

// Templates that differ in words only, as one: "opened bucket alpha" and "opened bucket beta".
// A pure function of the set of templates: no order of arrival, no earlier state. See README.md.
class TemplateGroups {
 public:
  // Texts with slots as kSlot. The same id twice is one.
  void add(TemplateId id, const std::string& text);
  // Clusters what was added; then group_of() and text_of() may be asked.
  void build();

  // The smallest fingerprint among the templates of its group; `id` itself when it was not added.
  TemplateId group_of(TemplateId id) const;
  // Of a group, for people: slots and the words that differ as "<*>". Empty when unknown.
  std::string text_of(TemplateId group) const;
  std::size_t templates() const { return texts_.size(); }
  std::size_t groups() const { return members_.size(); }
  bool knows(TemplateId id) const { return texts_.contains(id); }
  // As it was added; nullptr when it was not.
  const std::string* template_text(TemplateId id) const;

 private:
  std::unordered_map<TemplateId, std::string> texts_;
  std::unordered_map<TemplateId, TemplateId> group_;
  std::unordered_map<TemplateId, std::vector<TemplateId>> members_;  // ascending
};

}  // namespace logarithm::aggregator
