#include "agent/test_rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/temp_dir.h"

namespace logarithm::agent::test {

TEST_CASE("test-rules: one JSON object a line, with what the rules extract") {
  std::istringstream in("iteration 5/10 | lm loss: nan |\nplain\n");
  std::ostringstream out, errors;
  CHECK(test_rules({}, "", in, out, errors) == 0);
  // The costs: the rule that hit once, and the sum.
  CHECK(errors.str().starts_with("rule "));
  CHECK(errors.str().find("megatron-iteration") != std::string::npos);
  CHECK(errors.str().find("2 lines, ") != std::string::npos);
  const std::string text = out.str();
  CHECK(text.find(R"("iteration":5)") != std::string::npos);
  CHECK(text.find(R"("lm_loss":"NaN")") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("test-rules: a file that cannot be read is told, exit 78") {
  std::istringstream in("x\n");
  std::ostringstream out, errors;
  CHECK(test_rules({"/nonexistent/rules.yaml"}, "", in, out, errors) == 78);
  CHECK(errors.str().find("/nonexistent/rules.yaml") != std::string::npos);
}

TEST_CASE("test-rules: rules of certain streams are tried, unless another stream is named") {
  logarithm::test::TempDir dir;
  const std::string file = dir.file("rules.yaml");
  std::ofstream(file) << "rules:\n"
                         "  - name: my-xid\n"
                         "    streams: [kernel]\n"
                         "    match: 'NVRM: Xid \\(PCI:(?P<pci>[0-9a-f:]+)\\): (?P<my_xid>\\d+)'\n"
                         "    fields: {pci: string, my_xid: int}\n";
  const auto found = [&](const std::string& stream) {
    std::istringstream in("NVRM: Xid (PCI:0000:3b:00): 79, pid=123\n");
    std::ostringstream out, errors;
    CHECK(test_rules({file}, stream, in, out, errors) == 0);
    return out.str().find("\"my_xid\":79") != std::string::npos;
  };
  CHECK(found(""));
  CHECK(found("kernel"));
  CHECK_FALSE(found("stdout"));
}

}  // namespace logarithm::agent::test
