#include "cli/source.h"

#include <doctest/doctest.h>

namespace logarithm::cli {
namespace {

using Words = std::vector<std::string>;

bool is_there(const std::string& path) { return path.starts_with("/there"); }

}  // namespace

TEST_CASE("split_files: what names no file goes back to the verb, in order") {
  Words files{"/there/a", "/there/b", "{rank=\"2\"}"};
  Words positionals{"last"};

  CHECK(split_files(files, positionals, is_there).ok());

  CHECK(files == Words{"/there/a", "/there/b"});
  CHECK(positionals == Words{"{rank=\"2\"}", "last"});
}

TEST_CASE("split_files: the first file must exist") {
  Words files{"/gone"};
  Words positionals;
  CHECK_FALSE(split_files(files, positionals, is_there).ok());
  Words none;
  CHECK(split_files(none, positionals, is_there).ok());
}

TEST_CASE("FileOptions: --path, --tz and --job say nothing without --files") {
  FileOptions options;
  CHECK(options.check().ok());
  options.tz = "UTC";
  CHECK_FALSE(options.check().ok());
  options.files = {"/there"};
  CHECK(options.check().ok());
}

TEST_CASE("job_path: a job's name is one segment") {
  CHECK(job_path("a/b c", "lines") == "/api/v1/jobs/a%2Fb%20c/lines");
  CHECK(job_path("x", "") == "/api/v1/jobs/x");
}

}  // namespace logarithm::cli
