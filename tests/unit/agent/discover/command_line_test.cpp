#include "agent/discover/command_line.h"

#include <doctest/doctest.h>

#include "agent/discover/process_table.h"
#include "agent/discover/users.h"

namespace logarithm::agent {
namespace {

std::string redact(std::string text) {
  for (char& c : text) {
    if (c == ' ') c = '\0';
  }
  return redacted_command(text);
}

TEST_CASE("Command line: values of arguments that name a secret are masked, others stay") {
  CHECK(redact("python t.py --api-key abc --lr 1") == "python t.py --api-key [redacted] --lr 1");
  CHECK(redact("python --wandb-token=abc") == "python --wandb-token=[redacted]");
  CHECK(redact("env HF_TOKEN=abc DB_PASSWORD=x A=1") ==
        "env HF_TOKEN=[redacted] DB_PASSWORD=[redacted] A=1");
  CHECK(redact("t --tokenizer-model /m --num-tokens 5") == "t --tokenizer-model /m --num-tokens 5");
  CHECK(redact("t --use-key --lr 1") == "t --use-key --lr 1");
  CHECK(redact("t s3://me:pw@host/x http://host:80/y") ==
        "t s3://me:[redacted]@host/x http://host:80/y");
}

TEST_CASE("Command line: it is cut at 4 KiB, at a character, and always UTF-8") {
  std::string text(kMaxCommand - 1, 'a');
  text += "\xc3\xa9\xc3\xa9";

  const std::string out = redacted_command(text);

  CHECK(out == std::string(kMaxCommand - 1, 'a'));
  CHECK(redacted_command("a\xff") == "a\xef\xbf\xbd");
}

TEST_CASE("Command line: the user is the effective one") {
  CHECK(effective_uid("Name:\tx\nUid:\t1\t23\t1\t1\nGid:\t5\t5\t5\t5\n") == "23");
  CHECK(effective_uid("Name:\tx\n").empty());
  CHECK(user_of("0") == "root");
  CHECK(user_of("4199999999") == "4199999999");
}

}  // namespace
}  // namespace logarithm::agent
