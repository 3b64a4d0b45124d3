#include "agent/discover/glob.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agent/discover/compressed_files.h"
#include "common/async/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent {
namespace {

constexpr UnixNanos kNow = 4'000'000'000'000'000'000;  // after every mtime: listings are trusted

void touch(const std::string& path, const std::string& bytes = "x\n") {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> names(const Walk& walk, const std::string& root) {
  std::vector<std::string> out;
  for (const FoundFile& file : walk.files) out.push_back(file.path.substr(root.size() + 1));
  return out;
}

struct Fixture {
  test::TempDir dir;
  DirectoryCache cache;
  WorkerPool pool{1};

  Walk expand(const std::string& glob, UnixNanos now = kNow, std::size_t cap = 1000) {
    return pool.run_and_wait(
        [&](BlockingToken& token) { return expand_glob(token, cache, dir.file(glob), now, cap); });
  }
};

TEST_CASE_FIXTURE(Fixture, "Glob: wildcards stay in a component, ** crosses directories") {
  for (const char* name : {"a.log", "b.txt", ".hidden.log", "x/a.log", "x/y/c.log", "x/.z/d.log"}) {
    touch(dir.file(name));
  }
  using List = std::vector<std::string>;
  CHECK(names(expand("*.log"), dir.path()) == List{"a.log"});
  CHECK(names(expand("*/*.log"), dir.path()) == List{"x/a.log"});
  CHECK(names(expand("**/*.log"), dir.path()) == List{"a.log", "x/a.log", "x/y/c.log"});
  CHECK(names(expand("x/**"), dir.path()) == List{"x/a.log", "x/y/c.log"});
  CHECK(names(expand("[ab].*"), dir.path()) == List{"a.log", "b.txt"});
  CHECK(names(expand("x/y/c.log"), dir.path()) == List{"x/y/c.log"});
  CHECK(names(expand("none/*"), dir.path()).empty());
}

TEST_CASE_FIXTURE(Fixture, "Glob: matching a path agrees with expanding the glob") {
  const char* files[] = {"a.log", "x/a.log", "x/y/c.log", "x/y/c.txt", "x/.z/d.log"};
  for (const char* name : files) touch(dir.file(name));
  for (const char* glob : {"*.log", "*/*", "**/*.log", "x/**", "**", "x/**/c.*", "x/y/c.log"}) {
    const auto found = names(expand(glob), dir.path());
    for (const char* name : files) {
      CAPTURE(glob);
      CAPTURE(name);
      const bool listed = std::find(found.begin(), found.end(), name) != found.end();
      CHECK(glob_matches(dir.file(glob), dir.file(name)) == listed);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "Glob: links to directories are no way through **, pipes are no files") {
  touch(dir.file("a/x.log"));
  std::filesystem::create_directory_symlink(dir.file("a"), dir.file("a/loop"));
  REQUIRE(::mkfifo(dir.file("a/pipe.log").c_str(), 0600) == 0);

  const Walk walk = expand("**/*.log");

  CHECK(names(walk, dir.path()) == std::vector<std::string>{"a/x.log"});
  CHECK(walk.other == std::vector<std::string>{dir.file("a/pipe.log")});
}

TEST_CASE_FIXTURE(Fixture, "Glob: case 50, more files than the cap are cut, and it says so") {
  for (int i = 0; i < 5; ++i) touch(dir.file(std::to_string(i) + ".log"));

  const Walk walk = expand("*.log", kNow, 3);

  CHECK(walk.files.size() == 3);
  CHECK(walk.cut);
}

TEST_CASE_FIXTURE(Fixture, "Glob: case 50, it never lists /proc") {
  const Walk walk = pool.run_and_wait([&](BlockingToken& token) {
    return expand_glob(token, cache, "/proc/*/status", kNow, 1000);
  });

  CHECK(walk.files.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "Directory cache: a new file is noticed, an unchanged directory is not") {
  touch(dir.file("a.log"));
  expand("*.log");
  const auto changed = [&] {
    return pool.run_and_wait([&](BlockingToken& token) { return cache.changed(token, kNow + 1); });
  };
  CHECK_FALSE(changed());

  touch(dir.file("b.log"));

  CHECK(changed());
  CHECK(expand("*.log", kNow + 1).files.size() == 2);
}

TEST_CASE("Compressed files: case 17, known by their first bytes") {
  CHECK(has_compressed_magic(std::string_view("\x1f\x8b\x08\0", 4)));
  CHECK(has_compressed_magic("\x28\xb5\x2f\xfd..."));
  CHECK(
      has_compressed_magic(std::string_view("\xfd"
                                            "7zXZ\0\0",
                                            7)));
  CHECK(has_compressed_magic("BZh91AY"));
  CHECK_FALSE(has_compressed_magic("plain text"));
  CHECK_FALSE(has_compressed_magic(""));
}

}  // namespace
}  // namespace logarithm::agent
