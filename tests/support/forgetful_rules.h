#pragma once

#include <string_view>
#include <vector>

#include "common/rules/rule_set.h"

namespace logarithm::test {

// The same rules, and nothing is remembered: every line goes through unwrap, header and rules.
class ForgetfulRules final : public RuleSet {
 public:
  explicit ForgetfulRules(const RuleSet& rules) : rules_(rules) {}
  void apply(std::string_view body, std::string_view stream, Extraction& out) const override {
    rules_.apply(body, stream, out);
  }
  void apply(std::string_view body, const MaskedBody&, TemplateId, std::string_view stream,
             Extraction& out) const override {
    rules_.apply(body, stream, out);
  }
  TemplateId read(std::string_view body, std::string_view stream, Extraction& out) const override {
    rules_.apply(body, stream, out);
    return template_of(body);
  }
  void apply_record(std::string_view record, std::string_view stream,
                    Extraction& out) const override {
    rules_.apply_record(record, stream, out);
  }
  void find_secrets(std::string_view raw, std::vector<Secret>& out) const override {
    rules_.find_secrets(raw, out);
  }
  bool redacts() const override { return rules_.redacts(); }
  std::size_t size() const override { return rules_.size(); }
  std::vector<RuleCost> costs() const override { return rules_.costs(); }

 private:
  const RuleSet& rules_;
};

}  // namespace logarithm::test
