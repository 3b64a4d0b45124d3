#include "cli/export_directory.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.h"

namespace logarithm::cli {
namespace {

RawPart part_of(const std::string& stream, std::uint64_t end, std::uint64_t from = 0) {
  RawPart out;
  out.stream_id = stream;
  out.file = "rank-0/stdout.log";
  out.from = from;
  out.end = end;
  return out;
}

void write(const std::string& name, const std::string& bytes) {
  std::ofstream(name, std::ios::binary) << bytes;
}
std::string read(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ExportDirectory opened(const std::string& directory, const RawPart& part) {
  auto out = ExportDirectory::open(directory, {part});
  REQUIRE(out.ok());
  return std::move(out).value();
}

}  // namespace

TEST_CASE("Export directory: a stream that grew goes on behind the last whole line") {
  const test::TempDir dir;
  const std::string name = dir.path() + "/rank-0/stdout.log";
  const RawPart before = part_of("s1", 12);
  const auto first = opened(dir.path(), before);
  CHECK_FALSE(first.whole(before));
  CHECK(first.resume(before).value() == 0);
  write(first.partial(before), "one\ntwo\nhalf");
  REQUIRE(first.finish(before).ok());
  CHECK(first.whole(before));

  const RawPart grown = part_of("s1", 30);
  const auto second = opened(dir.path(), grown);
  CHECK_FALSE(second.whole(grown));
  CHECK(second.resume(grown).value() == 8);
  CHECK(read(second.partial(grown)) == "one\ntwo\n");
  CHECK_FALSE(std::filesystem::exists(name));
  // Stopped in the middle, and once more: nothing is kept twice.
  write(second.partial(grown), "one\ntwo\nhalf a li");
  const auto third = opened(dir.path(), grown);
  CHECK(third.resume(grown).value() == 8);
  CHECK(third.resume(grown).value() == 8);
}

TEST_CASE("Export directory: never goes on with the file of another stream, or of nobody") {
  const test::TempDir dir;
  const RawPart mine = part_of("s1", 8);
  std::filesystem::create_directories(dir.path() + "/rank-0");
  write(dir.path() + "/rank-0/stdout.log", "foreign\n");
  const auto first = opened(dir.path(), mine);
  CHECK_FALSE(first.whole(mine));
  CHECK(first.resume(mine).value() == 0);
  write(first.partial(mine), "one\ntwo\n");
  REQUIRE(first.finish(mine).ok());

  for (const RawPart& other : {part_of("s2", 8), part_of("s1", 16, 8)}) {
    CAPTURE(other.from);
    const auto next = opened(dir.path(), other);
    CHECK_FALSE(next.whole(other));
    CHECK(next.resume(other).value() == 0);
  }
}

TEST_CASE("Export directory: where bytes are missing, sizes tell no offsets") {
  const test::TempDir dir;
  RawPart part = part_of("s1", 8);
  part.gapless = false;
  const auto files = opened(dir.path(), part);
  write(files.partial(part), "one\ntwo\n");
  CHECK(files.resume(part).value() == 0);
  REQUIRE(files.finish(part).ok());
  CHECK_FALSE(files.whole(part));
}

TEST_CASE("Export directory: a line that never ended comes again whole") {
  const test::TempDir dir;
  const RawPart part = part_of("s1", 300'000);
  const auto files = opened(dir.path(), part);
  write(files.partial(part), std::string(200'000, 'x'));
  CHECK(files.resume(part).value() == 0);
  write(files.partial(part), "a\n" + std::string(200'000, 'x'));
  CHECK(files.resume(part).value() == 2);
}

}  // namespace logarithm::cli
