#include <cstddef>
#include <cstdint>
#include <string>

#include "common/rules/rule_set.h"

// Any bytes as a rule file, and the same bytes as a line for the rules that came out of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace logarithm;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<RuleProblem> problems;
  const auto rules = RuleSet::build({{"fuzz.yaml", text}}, problems);
  for (const auto& problem : problems) (void)problem.to_string();
  Extraction found;
  rules->apply(text, "stdout", found);
  rules->apply("step=60 loss=nan", "kernel", found);
  rules->apply_record(text, "stdout", found);
  MaskedBody masked;
  mask_body(text, masked);
  for (int i = 0; i < 20; ++i) {  // until the template is known
    rules->apply(text, masked, fingerprint(masked.text), "stdout", found);
  }
  std::vector<RuleSet::Secret> secrets;
  rules->find_secrets(text, secrets);
  return 0;
}
