#include "aggregator/store/doctor.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/aggregator/store/made_store.h"

namespace logarithm::aggregator::test {
namespace {

namespace fs = std::filesystem;
const JobKey kJob = key_of("run7");
const StreamId kStream = stream_of("rank 0");

struct Patient {
  Patient() {
    std::uint64_t at = 0;
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(make_block(kStream, "run7", numbered_lines(at, 10)));
      at = blocks.back().block.end;
      REQUIRE(store.put(kJob, blocks.back()).stored);
    }
    REQUIRE(store.put(key_of("other"), make_block(kStream, "other", numbered_lines(0, 7))).stored);
    shard = store.path() + "/" + to_text(hash_base("default")) + "/" + to_text(hash_base("run7")) +
            "/part-0.db";
    store.close();
  }
  DoctorReport examine(bool read_only = false) {
    const auto report = pool.run_and_wait([&](BlockingToken& token) {
      DoctorOptions options;
      options.data_dir = store.path();
      options.read_only = read_only;
      return aggregator::examine(token, options);
    });
    REQUIRE(report.ok());
    return *report;
  }
  void sql(const std::string& text) {
    const Status done = pool.run_and_wait([&](BlockingToken& token) -> Status {
      LGR_TRY(auto database, Database::open(token, shard, Database::Options()));
      LGR_CHECK(database->exec(token, text));
      return database->checkpoint(token);
    });
    REQUIRE(done.ok());
  }
  std::size_t aside() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(store.path())) {
      count += entry.path().filename().string().find(".bad") != std::string::npos ? 1 : 0;
    }
    return count;
  }

  Store store;
  WorkerPool pool{1};
  std::vector<MadeBlock> blocks;
  std::string shard;
};

}  // namespace

TEST_CASE("Doctor: a healthy directory is called so, and is not changed") {
  Patient patient;
  for (const bool read_only : {true, false}) {
    const DoctorReport report = patient.examine(read_only);
    CAPTURE(to_text(report));
    CHECK(report.healthy());
    REQUIRE(report.shards.size() == 2);
    std::uint64_t lines = 0, blocks = 0;
    for (const ShardReport& shard : report.shards) {
      lines += shard.lines;
      blocks += shard.blocks;
    }
    CHECK(lines == 37);
    CHECK(blocks == 4);
    CHECK(to_text(report).find("healthy") != std::string::npos);
    CHECK(nlohmann::json::parse(to_json(report))["healthy"] == true);
  }
  patient.store.open();
  CHECK(patient.store.all_lines(kJob).size() == 30);
  CHECK(patient.aside() == 0);
}

TEST_CASE("Doctor: a damaged block is moved aside, the others stay, and it can be sent again") {
  Patient patient;
  patient.sql("UPDATE inbox SET body=substr(body, 1, length(body)-1) || x'00' WHERE id=2");
  {
    const DoctorReport look = patient.examine(true);
    CHECK(!look.healthy());
    CHECK(patient.aside() == 0);
  }
  const DoctorReport report = patient.examine();
  CAPTURE(to_text(report));
  CHECK(!report.healthy());
  CHECK(report.set_aside == 1);
  CHECK(patient.aside() == 1);
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["healthy"] == false);

  CHECK(patient.examine().healthy());
  patient.store.open();
  CHECK(patient.store.all_lines(kJob).size() == 20);
  const Range hole{patient.blocks[1].block.first, patient.blocks[1].block.end};
  const auto stored = patient.store.stored(kJob, kStream.base);
  CHECK(stored.at(0).ranges ==
        std::vector<Range>{{0, hole.first}, {hole.end, patient.blocks[2].block.end}});
  CHECK(patient.store.put(kJob, patient.blocks[1]).stored);
  CHECK(patient.store.all_lines(kJob).size() == 30);
}

TEST_CASE("Doctor: a file that is no database is moved aside, and nothing else") {
  Patient patient;
  fs::remove(patient.shard + "-wal");
  std::ofstream(patient.shard, std::ios::in | std::ios::out)
      .write(std::string(4096, '\0').data(), 4096);
  const DoctorReport report = patient.examine();
  CAPTURE(to_text(report));
  CHECK(!report.healthy());
  CHECK(!fs::exists(patient.shard));
  CHECK(fs::exists(patient.shard + ".bad"));
  patient.store.open();
  CHECK(patient.store.all_lines(key_of("other")).size() == 7);
}

TEST_CASE("Doctor: an index that is wrong is built anew") {
  Patient patient;
  patient.sql(
      "INSERT INTO template_index(template_index, rowid, text) SELECT 'delete', seq, text FROM "
      "templates WHERE kind=0 LIMIT 1");
  CHECK(!patient.examine(true).healthy());
  const DoctorReport report = patient.examine();
  CAPTURE(to_text(report));
  CHECK(!report.healthy());
  CHECK(patient.examine().healthy());
  CHECK(patient.aside() == 0);
  patient.store.open();
  auto view = patient.store.snapshot(kJob);
  const auto block = patient.store.candidates(*view).at(0);
  const auto found = patient.store.run([&](BlockingToken& token) {
    return view->templates_containing(token, block.shard, "is done", false);
  });
  REQUIRE(found.ok());
  CHECK(!found->empty());
}

TEST_CASE("Doctor: a shard that the catalogue names and nobody has is told") {
  Patient patient;
  fs::remove(patient.shard);
  fs::remove(patient.shard + "-wal");
  const DoctorReport report = patient.examine();
  CHECK(!report.healthy());
  REQUIRE(report.catalogue.size() == 1);
  CHECK(report.catalogue[0].find("part-0.db") != std::string::npos);
}

}  // namespace logarithm::aggregator::test
