#include "agent/kernel/kernel_record.h"

#include <doctest/doctest.h>

#include <random>

namespace logarithm::agent {
namespace {

TEST_CASE("KernelRecord: level, facility, sequence, stamp, text and dictionary are read") {
  const auto record = parse_kernel_record(
      "30,339,5140900,-;NET: Registered PF_INET\n SUBSYSTEM=net\n DEVICE=+pci:0000:0a:00.0\n");
  REQUIRE(record.ok());
  CHECK(record->level == 6);
  CHECK(record->facility == 3);
  CHECK(facility_name(record->facility) == "daemon");
  CHECK(record->sequence == 339);
  CHECK(record->micros == 5140900);
  CHECK(!record->fragment);
  CHECK(record->message == "NET: Registered PF_INET");
  REQUIRE(record->facts.size() == 2);
  CHECK(record->facts[0] == std::pair<std::string, std::string>("subsystem", "net"));
  CHECK(record->facts[1] == std::pair<std::string, std::string>("device", "+pci:0000:0a:00.0"));
}

TEST_CASE("KernelRecord: more fields before the text are skipped, a fragment is one") {
  const auto record = parse_kernel_record("4,7,1,+,caller=T12;rest of it\n");
  REQUIRE(record.ok());
  CHECK(record->fragment);
  CHECK(record->message == "rest of it");
}

TEST_CASE("KernelRecord: escapes of text are undone, those of control characters stay") {
  const auto record = parse_kernel_record("6,1,1,-;a\\x5cb \\xc3\\xa4 c\\x0ad \\x0d \\xzz \\x4");
  REQUIRE(record.ok());
  CHECK(record->message == "a\\b \xc3\xa4 c\\x0ad \\x0d \\xzz \\x4");
}

TEST_CASE("KernelRecord: what is no record is refused") {
  for (const char* text : {"", ";", "6;x", "6,1;x", "6,1,x,-;m", "x,1,1,-;m", "6,1,1", "-6,1,1,-;m",
                           "6,99999999999999999999,1,-;m", "6,1,9999999999999999999,-;m"}) {
    CAPTURE(text);
    CHECK(!parse_kernel_record(text).ok());
  }
}

TEST_CASE("KernelRecord: bytes of any kind are a record or refused, never a crash") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string good = "30,339,5140900,-;NET: \\xc3 text\n SUBSYSTEM=net\n";
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    const auto record = parse_kernel_record(bytes);
    if (record.ok()) CHECK(record->message.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace logarithm::agent
