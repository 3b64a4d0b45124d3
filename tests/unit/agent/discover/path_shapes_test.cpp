#include "agent/discover/path_shapes.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace logarithm::agent {
namespace {

struct Row {
  std::string path;
  std::optional<std::int32_t> rank, local_rank, attempt;
  std::string stream, job;
};

TEST_CASE("Path shapes: launchers' and home-grown names give rank, attempt and stream") {
  const Row rows[] = {
      {"/tmp/torchelastic_k3/llm7_sfj1zute/attempt_2/5/stderr.log", {}, 5, 2, "stderr", "llm7"},
      {"/logs/none_8zuih7tj/attempt_0/0/stdout.log", {}, 0, 0, "stdout", ""},
      {"attempt_1/3/stdout.log", {}, 3, 1, "stdout", ""},
      {"/l/run_a1b2c3d4/attempt_3/11/stdout.log.1", {}, 11, 3, "stdout", "run"},
      {"/tmp/ray/session_latest/logs/worker-9c1d-01000000-48213.out",
       {},
       {},
       {},
       "stdout",
       "01000000"},
      {"/tmp/ray/session_x/logs/old/worker-9c1d-01000000-48213.err",
       {},
       {},
       {},
       "stderr",
       "01000000"},
      {"/tmp/ray/session_x/logs/job-driver-raysubmit_8aKb.log", {}, {}, {}, "", "raysubmit_8aKb"},
      {"/var/log/pods/ns_etcd-n1_0123456789abcdef/etcd/4.log", {}, {}, 4, "", "etcd-n1"},
      {"/var/log/pods/ns_etcd-n1_0123456789abcdef/etcd/4.log.20260304-050607",
       {},
       {},
       4,
       "",
       "etcd-n1"},
      {"/out/rank.3/stderr", 3, {}, {}, "stderr", ""},
      {"/home/me/slurm-4711.out", {}, {}, {}, "stdout", "4711"},
      {"/home/me/slurm-4711_3.err", {}, {}, {}, "stderr", "4711_3"},
      {"/out/x-3.out", 3, {}, {}, "stdout", ""},
      {"/out/train-12.err", 12, {}, {}, "stderr", ""},
      {"/out/1/rank.07/stdout", 7, {}, {}, "stdout", ""},
      {"/out/1/rank.7/stderr", 7, {}, {}, "stderr", ""},
      {"/scratch/rank-3.log", 3, {}, {}, "", ""},
      {"/scratch/rank3.err", 3, {}, {}, "stderr", ""},
      {"/scratch/rank_0011.out.1", 11, {}, {}, "stdout", ""},
      {"/scratch/rank3.stderr.log", 3, {}, {}, "stderr", ""},
      {"/scratch/stdout_3.txt", 3, {}, {}, "stdout", ""},
      {"/scratch/out-3.log", 3, {}, {}, "stdout", ""},
      {"/scratch/err-3.log.2", 3, {}, {}, "stderr", ""},
      {"/scratch/out-10.log.2026-03-04", 10, {}, {}, "stdout", ""},
      {"/scratch/2026-03-04-05:06:07_rank3.log", 3, {}, {}, "", ""},
      {"/scratch/err_rank3.log", 3, {}, {}, "stderr", ""},
      {"/scratch/attempt-2/rank-3.log", 3, {}, 2, "", ""},
      {"/scratch/attempt-2/slurm-77.out", {}, {}, 2, "stdout", "77"},
      {"/scratch/attempt_1/kernel.log", {}, {}, 1, "kernel", ""},
      {"/scratch/local_rank_1.log", {}, 1, {}, "", ""},
      {"/scratch/local_rank_1.err", {}, 1, {}, "stderr", ""},
      {"/var/log/kern.log", {}, {}, {}, "kernel", ""},
      {"/var/log/kern.log.1", {}, {}, {}, "kernel", ""},
      {"kernel.log", {}, {}, {}, "kernel", ""},
      {"/x/dmesg-host3.txt", {}, {}, {}, "kernel", ""},
      {"/x/stdout.log", {}, {}, {}, "stdout", ""},
      {"/x/job.err", {}, {}, {}, "stderr", ""},
      {"/x/frank3.log", {}, {}, {}, "", ""},
      {"/x/layout.log", {}, {}, {}, "", ""},
      {"/x/out.log.1", {}, {}, {}, "stdout", ""},
      {"/x/app.log", {}, {}, {}, "", ""},
      {"", {}, {}, {}, "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);

    const PathAttributes found = path_shape(row.path);

    CHECK(found.rank == row.rank);
    CHECK(found.local_rank == row.local_rank);
    CHECK(found.attempt == row.attempt);
    CHECK(found.stream == row.stream);
    CHECK(found.job == row.job);
  }
}

TEST_CASE("Path shapes: the files that Slurm names bear task labels") {
  CHECK(path_shape("/home/me/slurm-4711.out").slurm_step);
  CHECK(path_shape("slurm-4711_3.err").slurm_step);
  CHECK_FALSE(path_shape("/home/me/train.out").slurm_step);
}

TEST_CASE("Path shapes: the family has a mark where the rank stands") {
  CHECK(path_shape("/a/out-3.log").family == "/a/out-#.log");
  CHECK(path_shape("/a/1/rank.07/stdout").family == "/a/1/rank.#/stdout");
  CHECK(path_shape("out-3.log").family == "out-#.log");
  CHECK(path_shape("/a/x-3.out").needs_family);
  CHECK_FALSE(path_shape("/a/out-3.log").needs_family);
}

TEST_CASE("Path shapes: they agree with the collected shapes of the world") {
  std::ifstream file(std::string(LGR_TEST_DATA) + "/data/formats.jsonl");
  std::string line;
  int checked = 0;
  while (std::getline(file, line)) {
    const auto shape = nlohmann::json::parse(line);
    if (shape.at("group") != "path") continue;
    for (std::size_t i = 0; i < shape.at("lines").size(); ++i) {
      const std::string path = shape.at("lines")[i];
      if (i > 0 && (!shape.contains("expect_more") || shape["expect_more"].size() < i)) continue;
      const auto& expected = i == 0 ? shape.at("expect") : shape.at("expect_more")[i - 1];
      CAPTURE(path);
      const PathAttributes found = path_shape(path);
      const auto number = [&](const char* name) -> std::optional<std::int32_t> {
        if (!expected.contains(name) || expected[name].is_null()) return std::nullopt;
        return std::stoi(expected[name].get<std::string>());
      };
      if (expected.contains("attempt")) CHECK(found.attempt == number("attempt"));
      if (expected.contains("local_rank")) CHECK(found.local_rank == number("local_rank"));
      if (expected.contains("restart")) CHECK(found.attempt == number("restart"));
      if (expected.contains("rank_a")) {
        CHECK(found.rank == (number("rank_a") ? number("rank_a") : number("rank_b")));
      }
      if (expected.contains("run_id")) {
        const std::string run = expected["run_id"];
        CHECK(found.job == (run == "none" ? "" : run));
      }
      if (expected.contains("stream")) {
        const std::string stream = expected["stream"];
        CHECK(found.stream == (stream == "err" ? "stderr" : stream));
      }
      ++checked;
    }
  }
  CHECK(checked >= 7);
}

TEST_CASE("User path regex: its groups become attributes") {
  const auto regex = UserPathRegex::compile(
      R"(/(?P<job>[^/]+)/a(?P<attempt>\d+)/(?P<host>[^/]+)/rank-(?P<rank>\d+)\.(?P<stream>out|err)$)");
  REQUIRE(regex.ok());

  const auto found = regex->match("/x/run7/a2/node-1/rank-003.err");

  REQUIRE(found.has_value());
  CHECK(found->job == "run7");
  CHECK(found->attempt == 2);
  CHECK(found->host == "node-1");
  CHECK(found->rank == 3);
  CHECK(found->stream == "stderr");
  CHECK_FALSE(regex->match("/x/other.log").has_value());
}

TEST_CASE("User path regex: an unknown group and a broken pattern are refused with the reason") {
  const auto unknown = UserPathRegex::compile(R"((?P<gpu>\d+))");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find("gpu") != std::string::npos);
  CHECK_FALSE(UserPathRegex::compile("(").ok());
}

}  // namespace
}  // namespace logarithm::agent
