#include "aggregator/store/sqlite_storage.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <set>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

wire::RefuseCode code_of(const IngestOutcome& outcome) {
  REQUIRE(outcome.refuse.has_value());
  CHECK_FALSE(outcome.stored);
  return outcome.refuse->code;
}

TEST_CASE("Storage: a stored block is read back as it was, and a replay changes nothing") {
  Store store;
  const auto lines = numbered_lines(0, 20);
  const MadeBlock block = make_block(kStream, "run7", lines);
  CHECK(store.put(kJob, block).stored);
  const auto before = store.all_lines(kJob);

  CHECK(store.put(kJob, block).stored);

  CHECK(before.size() == 20);
  CHECK(store.all_lines(kJob) == before);
  CHECK(store.storage().stats().blocks == 1);
  CHECK(store.storage().stats().lines == 20);
}

TEST_CASE("Storage: stored() tells ranges, head, tail and versions, also after a reopen") {
  Store store;
  const auto lines = numbered_lines(0, 10);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", lines), 3).refuse.has_value());
  REQUIRE(store.put(kJob, make_block(kStream, "run7", lines, 3), 3).stored);
  for (int round = 0; round < 2; ++round) {
    const auto stored = store.stored(kJob, kStream.base);
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].head == "first line");
    CHECK(stored[0].ranges == std::vector<Range>{{0, lines.back().end()}});
    CHECK(stored[0].tail_crc == lines.back().end());
    CHECK(stored[0].last_version == 3);
    REQUIRE(stored[0].attributes);
    CHECK(stored[0].attributes->version == 3);
    CHECK(stored[0].attributes->job == "run7");
    CHECK_FALSE(stored[0].closed);
    store.open();
  }
  CHECK(store.stored(kJob, stream_of("another").base).empty());
  CHECK(store.stored(key_of("no such job"), kStream.base).empty());
}

TEST_CASE("Storage: a block whose beginning is stored is refused with where to resume") {
  Store store;
  const auto lines = numbered_lines(0, 10);
  const std::vector<Line> head(lines.begin(), lines.begin() + 4);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", head)).stored);

  const IngestOutcome outcome = store.put(kJob, make_block(kStream, "run7", lines));

  CHECK(code_of(outcome) == wire::RefuseCode::overlap);
  CHECK(outcome.refuse->resume_at == head.back().end());
  CHECK(outcome.refuse->end == lines.back().end());
  CHECK(store.all_lines(kJob).size() == 4);
}

TEST_CASE("Storage: a block that runs into a stored range is stored up to it") {
  Store store;
  const auto lines = numbered_lines(0, 10);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[4], lines[5]})).stored);
  SUBCASE("and resumes after it") {
    const IngestOutcome outcome = store.put(kJob, make_block(kStream, "run7", lines));
    CHECK(code_of(outcome) == wire::RefuseCode::overlap);
    CHECK(outcome.refuse->resume_at == lines[5].end());
    const std::vector<Line> rest(lines.begin() + 6, lines.end());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", rest)).stored);
    CHECK(store.all_lines(kJob).size() == 10);
    CHECK(store.stored(kJob, kStream.base)[0].ranges ==
          std::vector<Range>{{0, lines.back().end()}});
    CHECK(store.stored(kJob, kStream.base)[0].tail_crc == lines.back().end());
  }
  SUBCASE("and is done when nothing is behind it") {
    const std::vector<Line> front(lines.begin(), lines.begin() + 6);
    CHECK(store.put(kJob, make_block(kStream, "run7", front)).stored);
    CHECK(store.all_lines(kJob).size() == 6);
  }
  SUBCASE("and a line across its beginning is shortened, not repeated") {
    const auto other = make_lines(0, {std::string(lines[4].offset + 5, 'x')});
    CHECK(store.put(kJob, make_block(kStream, "run7", other)).stored);
    auto view = store.snapshot(kJob);
    const auto first = store.lines(*view, store.candidates(*view)[0]);
    REQUIRE(first.size() == 1);
    CHECK(first[0].raw == std::string(lines[4].offset, 'x'));
    CHECK(first[0].has(line_flag::partial));
  }
}

TEST_CASE("Storage: a job has the ranks that only its lines name, also after a reopen") {
  Store store;
  auto lines = numbered_lines(0, 4);
  lines[0].wrapper_rank = 0;
  lines[2].wrapper_rank = 5;
  lines[3].wrapper_rank = 1;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", lines)).stored);
  auto one = numbered_lines(lines.back().end(), 1);
  one[0].wrapper_rank = 7;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", one)).stored);
  for (int round = 0; round < 2; ++round) {
    auto summary =
        store.run([&](BlockingToken& token) { return store.storage().summary(token, kJob); });
    REQUIRE(summary.ok());
    CHECK(summary->ranks == std::set<std::int32_t>{0, 1, 5, 7});
    store.open();
  }
}

TEST_CASE("Storage: what a block needs and the shard lacks is asked for") {
  Store store;
  const MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 10));
  REQUIRE_FALSE(block.templates.templates.empty());

  auto nothing = store.apply(kJob, {block.block});
  CHECK(code_of(nothing->back()) == wire::RefuseCode::unknown_stream);

  auto no_texts = store.apply(kJob, {info_of(kStream, "run7"), block.block});
  CHECK(code_of(no_texts->back()) == wire::RefuseCode::unknown_template);
  CHECK(no_texts->back().refuse->templates.size() == block.templates.templates.size());

  auto all = store.apply(kJob, {block.templates, block.block});
  CHECK(all->back().stored);
}

TEST_CASE("Storage: one fingerprint with two texts is refused, and only those blocks") {
  Store store;
  const MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 10));
  wire::Templates other = block.templates;
  other.templates[0].text += "?";
  REQUIRE(store.apply(kJob, {other})->back().stored);

  auto outcomes = store.apply(kJob, {info_of(kStream, "run7"), block.templates, block.block});

  CHECK(code_of((*outcomes)[1]) == wire::RefuseCode::template_conflict);
  CHECK(code_of((*outcomes)[2]) == wire::RefuseCode::template_conflict);
  CHECK((*outcomes)[2].refuse->templates == std::vector<TemplateId>{other.templates[0].id});
}

TEST_CASE("Storage: a block that contradicts its envelope or its job is refused for good") {
  Store store;
  MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 10));
  SUBCASE("range") { block.block.end += 1; }
  SUBCASE("empty range") { block.block.end = block.block.first; }
  SUBCASE("stream") { block.block.stream.generation = 1; }
  SUBCASE("job") { block.block.job = "another"; }
  SUBCASE("bytes") { block.block.bytes[block.block.bytes.size() / 2] ^= 1; }
  SUBCASE("nothing") { block.block.bytes.clear(); }
  CHECK(code_of(store.put(kJob, block)) == wire::RefuseCode::corrupt);
  CHECK(store.all_lines(kJob).empty());
}

TEST_CASE("Storage: mutated blocks never get in, never stop the good ones") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Store store;
  const MadeBlock good = make_block(kStream, "run7", numbered_lines(0, 30));
  REQUIRE(store.apply(kJob, {info_of(kStream, "run7"), good.templates}).ok());
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<IngestItem> items;
    for (int i = 0; i < 100; ++i) {
      wire::Block bad = good.block;
      const std::size_t at = random() % bad.bytes.size();
      switch (random() % 3) {
        case 0: bad.bytes[at] = static_cast<char>(bad.bytes[at] ^ (1 << (random() % 8))); break;
        case 1: bad.bytes.resize(at); break;
        default: bad.bytes.insert(at, 1, static_cast<char>(random())); break;
      }
      items.push_back(std::move(bad));
    }
    auto outcomes = store.apply(kJob, std::move(items));
    REQUIRE(outcomes.ok());
    for (const IngestOutcome& outcome : *outcomes) REQUIRE_FALSE(outcome.stored);
  }
  CHECK(store.put(kJob, good).stored);
  CHECK(store.all_lines(kJob).size() == 30);
}

TEST_CASE("Storage: two tenants with the same job and stream see nothing of each other") {
  Store store;
  const JobKey a = key_of("run7", "a"), b = key_of("run7", "b");
  REQUIRE(store.put(a, make_block(kStream, "run7", numbered_lines(0, 3, "apple"))).stored);
  REQUIRE(store.put(b, make_block(kStream, "run7", numbered_lines(0, 5, "pear"))).stored);

  CHECK(store.all_lines(a).size() == 3);
  CHECK(store.all_lines(b).size() == 5);
  store.run([&](BlockingToken& token) {
    CHECK(store.storage().jobs(token, "a")->size() == 1);
    CHECK(store.storage().jobs(token, "default")->empty());
    CHECK(store.storage().job_of(token, "a", kStream)->tenant == "a");
    CHECK(store.storage().job_of(token, "c", kStream).error().code() == ErrorCode::not_found);
    return 0;
  });
}

TEST_CASE("Storage: NaN lives through storing, sealing and reading") {
  Store store;
  auto lines = numbered_lines(0, 4);
  lines[1].meta.push_back(MetaPair{"lm_loss", std::numeric_limits<double>::quiet_NaN(), true});
  lines[2].meta.push_back(MetaPair{"lm_loss", 2.5, true});
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[0], lines[1]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[2], lines[3]})).stored);
  for (int round = 0; round < 2; ++round) {
    auto view = store.snapshot(kJob);
    std::vector<Line> all;
    for (const BlockRef& ref : store.candidates(*view)) {
      for (Line& line : store.lines(*view, ref)) all.push_back(std::move(line));
    }
    REQUIRE(all.size() == 4);
    REQUIRE(all[1].meta.size() == 1);
    CHECK(std::isnan(std::get<double>(all[1].meta[0].value)));
    CHECK(all[1].meta[0].point);
    CHECK(std::get<double>(all[2].meta[0].value) == 2.5);
    view.reset();
    REQUIRE(store.apply(kJob, {wire::Closed{kStream, "run7", 99, "exited"}}).ok());
    store.maintain();
  }
}

TEST_CASE("Storage: facts of streams and processes reach the snapshot") {
  Store store;
  ProcessInfo process;
  process.job = "run7";
  process.host = "node1";
  process.pid = 42;
  process.start = kStart;
  process.exit = kStart + 1'000'000'000;
  process.last_seen = kStart;
  process.rank = 3;
  process.world_size = 8;
  wire::StreamInfo info = info_of(kStream, "run7");
  info.attributes.process = process.key();
  auto lines = numbered_lines(0, 4);
  lines[2].severity = Severity::error;
  lines[2].iteration = 17;
  EventMark mark;
  mark.rule = "xid";
  mark.kind = "xid";
  mark.klass = "root";
  lines[2].events.push_back(mark);
  Gap gap;
  gap.from = 500;
  gap.reason = "deleted";
  const MadeBlock block = make_block(kStream, "run7", lines);
  REQUIRE(store
              .apply(kJob, {info, block.templates, block.block, wire::Processes{{process}},
                            wire::GapReport{kStream, "run7", gap},
                            wire::Closed{kStream, "run7", 600, "exited"}})
              .ok());
  process.exit.reset();  // an older report, later
  REQUIRE(store.apply(kJob, {wire::Processes{{process}}}).ok());

  auto view = store.snapshot(kJob);
  REQUIRE(view->streams().size() == 1);
  const StreamFacts& stream = view->streams()[0];
  CHECK(stream.lines == 4);
  CHECK(stream.last_iteration == 17);
  CHECK(stream.gaps == std::vector<Gap>{gap});
  REQUIRE(stream.closed.has_value());
  CHECK(stream.closed->size == 600);
  REQUIRE(stream.at(0) != nullptr);
  CHECK(stream.at(0)->process == process.key());
  REQUIRE(view->processes().size() == 1);
  CHECK(view->processes()[0].info.exit == kStart + 1'000'000'000);
  CHECK(view->processes()[0].attempt == 0);

  auto summary =
      store.run([&](BlockingToken& token) { return store.storage().summary(token, kJob); });
  REQUIRE(summary.ok());
  CHECK(summary->errors == 1);
  CHECK(summary->lines == 4);
  CHECK(summary->ranks == std::set<std::int32_t>{3});
  CHECK(summary->world_size == 8);
  CHECK_FALSE(summary->running);
}

TEST_CASE("Storage: candidates are pruned by time, severity and stream only where that is safe") {
  Store store;
  auto lines = numbered_lines(0, 6);
  lines[0].severity = Severity::error;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[0], lines[1]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[2], lines[3]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[4], lines[5]})).stored);
  auto view = store.snapshot(kJob);

  CHECK(store.candidates(*view).size() == 3);
  BlockFilter filter;
  filter.start = lines[3].time;
  CHECK(store.candidates(*view, filter).size() == 2);
  filter.start.reset();
  filter.end = lines[2].time;  // [start, end)
  CHECK(store.candidates(*view, filter).size() == 1);
  filter.end.reset();
  filter.severities = 1u << static_cast<unsigned>(Severity::error);
  CHECK(store.candidates(*view, filter).size() == 1);
  filter = {};
  filter.streams.emplace();
  CHECK(store.candidates(*view, filter).empty());
}

TEST_CASE("Storage: candidates of few streams are those among all candidates") {
  Store store;
  for (int i = 0; i < 12; ++i) {
    const StreamId stream = stream_of("s" + std::to_string(i));
    const auto lines = numbered_lines(0, 10), more = numbered_lines(lines.back().end(), 10);
    REQUIRE(store.put(kJob, make_block(stream, "run7", lines)).stored);
    REQUIRE(store.put(kJob, make_block(stream, "run7", more)).stored);
  }
  auto view = store.snapshot(kJob);
  const std::vector<BlockRef> all = store.candidates(*view);
  const std::vector<std::set<std::size_t>> chosen = {{}, {3}, {0, 11}, {1, 2, 3, 4, 5, 6}};
  for (const std::set<std::size_t>& streams : chosen) {
    BlockFilter filter;
    filter.streams = streams;
    std::vector<std::pair<std::size_t, std::uint64_t>> expected, found;
    for (const BlockRef& block : all) {
      if (streams.contains(block.stream)) expected.emplace_back(block.stream, block.first);
    }
    for (const BlockRef& block : store.candidates(*view, filter)) {
      found.emplace_back(block.stream, block.first);
    }
    CHECK(found == expected);
  }
}

TEST_CASE("Storage: it is known of which streams no wrapper gave a rank, fresh and sealed") {
  Store store;
  const StreamId plain = stream_of("plain"), wrapped = stream_of("wrapped");
  const auto lacking = [&] {
    std::set<StreamId> out;
    auto view = store.snapshot(kJob);
    for (const StreamFacts& stream : view->streams()) {
      if (stream.lacks_wrapper_ranks) out.insert(stream.id);
    }
    return out;
  };
  REQUIRE(store.put(kJob, make_block(plain, "run7", numbered_lines(0, 20))).stored);
  std::vector<Line> lines = numbered_lines(0, 20);
  REQUIRE(store.put(kJob, make_block(wrapped, "run7", lines)).stored);
  CHECK(lacking() == std::set<StreamId>{plain, wrapped});
  lines = numbered_lines(lines.back().end(), 20);
  lines[7].wrapper_rank = 0;
  REQUIRE(store.put(kJob, make_block(wrapped, "run7", lines)).stored);
  CHECK(lacking() == std::set<StreamId>{plain});
  while (store.maintain()) {
  }
  CHECK(lacking() == std::set<StreamId>{plain});
}

TEST_CASE("Storage: the blocks from an offset on are those that candidates() finds there") {
  SqliteStorageOptions options;
  options.jobs.max_part_bytes = 400'000;
  Store store(options);
  const StreamId stream = stream_of("a"), other = stream_of("b");
  std::uint64_t at = 100;
  for (int i = 0; i < 60; ++i) {
    const auto lines = numbered_lines(at, 5 + i % 7);
    store.put(kJob, make_block(stream, kJob.job, lines));
    if (i % 5 == 0) store.put(kJob, make_block(other, kJob.job, lines));
    at = lines.back().end() + (i % 11 == 0 ? 50 : 0);
    if (i % 17 == 16) store.maintain();
  }
  auto view = store.snapshot(kJob);
  const auto position = static_cast<std::size_t>(
      std::find_if(view->streams().begin(), view->streams().end(),
                   [&](const StreamFacts& facts) { return facts.id == stream; }) -
      view->streams().begin());
  BlockFilter filter;
  filter.streams = std::set<std::size_t>{position};
  auto all = store.candidates(*view, filter);
  std::sort(all.begin(), all.end(),
            [](const BlockRef& a, const BlockRef& b) { return a.first < b.first; });

  for (std::uint64_t offset = 0; offset < at + 50; offset += 13) {
    CAPTURE(offset);
    const std::size_t most = 1 + offset % 9;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> expected, found;
    for (const BlockRef& block : all) {
      if (block.end > offset && expected.size() < most)
        expected.emplace_back(block.shard, block.id);
    }
    auto blocks = store.run(
        [&](BlockingToken& token) { return view->blocks_from(token, position, offset, most); });
    REQUIRE(blocks.ok());
    for (const BlockRef& block : *blocks) found.emplace_back(block.shard, block.id);
    CHECK(found == expected);
  }
}

TEST_CASE("case 100: Storage: a job of many parts is one job, and a replay finds every part") {
  SqliteStorageOptions options;
  options.jobs.max_part_bytes = 1;  // every batch begins a new part
  Store store(options);
  std::vector<MadeBlock> blocks;
  std::uint64_t offset = 0;
  for (int i = 0; i < 12; ++i) {
    const auto lines = numbered_lines(offset, 5);
    offset = lines.back().end();
    blocks.push_back(make_block(kStream, "run7", lines));
    REQUIRE(store.put(kJob, blocks.back()).stored);
  }
  CHECK(store.all_lines(kJob).size() == 60);
  CHECK(store.snapshot(kJob)->streams().size() == 1);
  store.open();

  for (const MadeBlock& block : blocks) CHECK(store.put(kJob, block).stored);

  CHECK(store.all_lines(kJob).size() == 60);
  CHECK(store.storage().stats().blocks == 0);  // since the reopen
  CHECK(store.stored(kJob, kStream.base)[0].ranges == std::vector<Range>{{0, offset}});
  CHECK(store.stored(kJob, kStream.base)[0].tail_crc == offset);
}

TEST_CASE("Storage: more jobs than may be open are still all served") {
  SqliteStorageOptions options;
  options.max_open_jobs = 2;
  Store store(options);
  for (int round = 0; round < 2; ++round) {
    for (int job = 0; job < 6; ++job) {
      const JobKey key = key_of("job" + std::to_string(job));
      const auto lines = numbered_lines(static_cast<std::uint64_t>(round) * 1000, 2);
      REQUIRE(store.put(key, make_block(kStream, key.job, lines)).stored);
    }
  }
  for (int job = 0; job < 6; ++job) {
    CHECK(store.all_lines(key_of("job" + std::to_string(job))).size() == 4);
  }
  CHECK(store.storage().stats().open_shards <= 2);
}

TEST_CASE(
    "case 98: Storage: below the reserve blocks wait, queries go on, and it heals by itself") {
  std::uint64_t free_bytes = 10;
  SqliteStorageOptions options;
  options.min_free_bytes = 100;
  options.free_bytes = [&](const std::string&) { return std::optional(free_bytes); };
  Store store(options);
  const MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 5));

  const IngestOutcome outcome = store.put(kJob, block);
  CHECK(code_of(outcome) == wire::RefuseCode::no_space);
  CHECK(outcome.refuse->retry_after_ms > 0);
  CHECK(store.all_lines(kJob).empty());

  free_bytes = 1000;
  CHECK(store.put(kJob, block).stored);
  free_bytes = 10;
  CHECK(store.put(kJob, block).stored);  // a replay needs no room
  CHECK(store.all_lines(kJob).size() == 5);
}

TEST_CASE("case 98: Storage: a full file undoes the whole batch, and what fits later is taken") {
  SqliteStorageOptions options;
  options.jobs.database.max_pages = 120;
  Store store(options);
  std::uint64_t offset = 0;
  std::mt19937_64 random(7);
  Result<std::vector<IngestOutcome>> outcome = std::vector<IngestOutcome>();
  std::size_t stored = 0;
  for (int i = 0; i < 200 && outcome.ok(); ++i) {
    std::vector<std::string> texts;
    for (int n = 0; n < 200; ++n) {
      std::string text;
      for (int word = 0; word < 8; ++word) text += std::to_string(random()) + " ";
      texts.push_back(text);
    }
    const auto lines = make_lines(offset, texts);
    offset = lines.back().end();
    const MadeBlock block = make_block(kStream, "run7", lines);
    outcome = store.apply(kJob, {info_of(kStream, "run7"), block.templates, block.block});
    if (outcome.ok()) stored += lines.size();
  }
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().code() == ErrorCode::no_space);
  CHECK(store.all_lines(kJob).size() == stored);
}

TEST_CASE("Storage: a damaged shard is moved aside and the others are served") {
  Store store;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  REQUIRE(store.put(key_of("other"), make_block(kStream, "other", numbered_lines(0, 7))).stored);
  namespace fs = std::filesystem;
  const std::string damaged = store.path() + "/" + to_text(hash_base("default")) + "/" +
                              to_text(hash_base("run7")) + "/part-0.db";
  REQUIRE(fs::exists(damaged));
  store.storage().stats();
  SqliteStorageOptions options;
  {
    // A copy of the directory, damaged: the store still has the original open.
    Store other;
    fs::copy(store.path(), other.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const std::string copy = other.path() + damaged.substr(store.path().size());
    fs::remove(copy + "-wal");
    fs::remove(copy + "-shm");
    std::FILE* file = std::fopen(copy.c_str(), "w");
    for (int i = 0; i < 5000; ++i) std::fputs("damaged ", file);
    std::fclose(file);
    fs::remove(other.path() + "/catalogue.db-wal");
    fs::remove(other.path() + "/catalogue.db-shm");
    other.open();

    CHECK(fs::exists(copy + ".bad"));
    CHECK(other.storage().counters().quarantined.load() == 1);
    CHECK(other.all_lines(key_of("other")).size() == 7);
    CHECK(other.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
    CHECK(other.all_lines(kJob).size() == 5);
  }
}

// Zeros the first page of a table of a closed database.
void damage_table(Store& helper, const std::string& path, const std::string& table) {
  std::int64_t page = 0, size = 0;
  helper.run([&](BlockingToken& token) {
    auto database = Database::open(token, path, Database::Options{});
    REQUIRE(database.ok());
    for (const auto& [sql, value] :
         {std::pair("SELECT rootpage FROM sqlite_master WHERE name='" + table + "'", &page),
          std::pair(std::string("PRAGMA page_size"), &size)}) {
      auto row = (*database)->prepare(sql);
      REQUIRE(row.ok());
      REQUIRE(*row->step(token));
      *value = row->integer(0);
    }
    return 0;
  });
  REQUIRE(page > 1);
  std::FILE* file = std::fopen(path.c_str(), "r+");
  REQUIRE(std::fseek(file, (page - 1) * size, SEEK_SET) == 0);
  const std::string garbage(static_cast<std::size_t>(size), '\xA5');
  REQUIRE(std::fwrite(garbage.data(), 1, garbage.size(), file) == garbage.size());
  std::fclose(file);
}

std::string part_of(const std::string& root, const std::string& job, int part) {
  return root + "/" + to_text(hash_base("default")) + "/" + to_text(hash_base(job)) + "/part-" +
         std::to_string(part) + ".db";
}

TEST_CASE("Storage: a shard whose streams cannot be read is moved aside, and ingest goes on") {
  logarithm::test::TempDir directory;
  {
    Store store({}, directory.path());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  }
  Store helper;
  damage_table(helper, part_of(directory.path(), "run7", 0), "sqlite_autoindex_streams_1");
  Store store({}, directory.path());
  CHECK(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  CHECK(store.all_lines(kJob).size() == 5);
  CHECK(std::filesystem::exists(part_of(directory.path(), "run7", 0) + ".bad"));
}

TEST_CASE("Storage: damage in an older part moves that one aside, not the newest") {
  logarithm::test::TempDir directory;
  SqliteStorageOptions options;
  options.jobs.max_part_bytes = 1;  // every batch begins a new part
  const auto first = numbered_lines(0, 5), second = numbered_lines(first.back().end(), 7),
             third = numbered_lines(second.back().end(), 9);
  {
    Store store(options, directory.path());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", first)).stored);
    REQUIRE(store.put(kJob, make_block(kStream, "run7", second)).stored);
  }
  namespace fs = std::filesystem;
  const std::string older = part_of(directory.path(), "run7", 1);
  REQUIRE(fs::exists(part_of(directory.path(), "run7", 2)));
  Store helper;
  damage_table(helper, older, "ranges");
  options.jobs.max_part_bytes = UINT64_MAX;
  Store store(options, directory.path());
  const MadeBlock block = make_block(kStream, "run7", third);
  std::vector<IngestItem> items;
  items.push_back(info_of(kStream, "run7"));
  items.push_back(block.templates);
  items.push_back(block.block);
  CHECK_FALSE(store.apply(kJob, items).ok());
  CHECK(store.apply(kJob, items).ok());
  CHECK(fs::exists(older + ".bad"));
  CHECK(store.storage().counters().quarantined.load() == 1);
  CHECK(store.all_lines(kJob).size() == second.size() + third.size());
}

TEST_CASE("Storage: a shard that cannot be opened now is not moved aside") {
  logarithm::test::TempDir directory;
  {
    Store store({}, directory.path());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  }
  namespace fs = std::filesystem;
  const std::string part = part_of(directory.path(), "run7", 0);
  fs::remove(part + "-wal");
  fs::create_directory(part + "-wal");  // SQLite cannot open it
  Store store({}, directory.path());
  CHECK(fs::exists(part));
  CHECK(store.storage().counters().quarantined.load() == 0);
  fs::remove(part + "-wal");
  CHECK(store.all_lines(kJob).size() == 5);
}

TEST_CASE("Storage: a lost catalogue is rebuilt from the shards") {
  Store store;
  REQUIRE(store.put(kJob, make_block(kStream, "run7", numbered_lines(0, 5))).stored);
  Store other;
  namespace fs = std::filesystem;
  store.run([&](BlockingToken&) {
    fs::copy(store.path(), other.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    for (const char* suffix : {"", "-wal", "-shm"}) {
      fs::remove(other.path() + "/catalogue.db" + suffix);
    }
    return 0;
  });
  other.open();

  CHECK(other.all_lines(kJob).size() == 5);
  CHECK(other
            .run([&](BlockingToken& token) {
              return other.storage().job_of(token, "default", kStream);
            })
            ->job == "run7");
}

TEST_CASE("case 95: Storage: a snapshot sees one state while ingest and sealing go on") {
  Store store;
  const auto lines = numbered_lines(0, 6);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[0], lines[1]})).stored);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[2], lines[3]})).stored);
  auto view = store.snapshot(kJob);
  const auto refs = store.candidates(*view);

  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[4], lines[5]})).stored);
  REQUIRE(store.apply(kJob, {wire::Closed{kStream, "run7", 1, "exited"}}).ok());
  store.maintain();

  CHECK(store.candidates(*store.snapshot(kJob)).size() == 1);
  REQUIRE(refs.size() == 2);
  CHECK(store.lines(*view, refs[0]).size() == 2);
  CHECK(store.lines(*view, refs[1]).size() == 2);
  CHECK(store.candidates(*view).size() == 2);
}

TEST_CASE(
    "Storage: the iterations of a process are those of all its streams, with their first times") {
  Store store;
  const StreamId other = stream_of("rank 0 stderr");
  std::vector<IngestItem> items;
  for (const StreamId& stream : {kStream, other}) {
    wire::StreamInfo info = info_of(stream, "run7");
    info.attributes.process = "node1/7/9";
    items.push_back(info);
    auto lines = numbered_lines(0, 4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].iteration = static_cast<std::int64_t>(stream == other ? 10 + i : 11 + i);
    }
    const MadeBlock made = make_block(stream, "run7", lines);
    items.push_back(made.templates);
    items.push_back(made.block);
  }
  const auto outcomes = store.apply(kJob, items);
  REQUIRE(outcomes.ok());
  for (const IngestOutcome& outcome : *outcomes) CHECK(outcome.stored);

  auto view = store.snapshot(kJob);
  auto starts =
      store.run([&](BlockingToken& token) { return view->iterations(token, "node1/7/9"); });
  REQUIRE(starts.ok());
  std::sort(starts->begin(), starts->end());
  REQUIRE(starts->size() == 5);
  CHECK(starts->front() == IterationStart{kStart, 10});
  CHECK(starts->back().iteration == 14);
  CHECK(store.run([&](BlockingToken& token) { return view->iterations(token, "x"); })->empty());
}

TEST_CASE(
    "case 96: Storage: the WAL grows while a reader lives, shows it, and starts again after") {
  Store store;
  std::mt19937_64 random(7);
  std::uint64_t at = 0;
  const auto put_some = [&] {
    for (int i = 0; i < 10; ++i) {
      std::vector<std::string> texts;
      for (int line = 0; line < 200; ++line) {
        std::string text;
        for (int word = 0; word < 50; ++word) text += std::to_string(random()) + " ";
        texts.push_back(std::move(text));
      }
      const MadeBlock block = make_block(kStream, "run7", make_lines(at, texts));
      at = block.block.end;
      REQUIRE(store.put(kJob, block).stored);
    }
    store.maintain();
    return store.storage().stats().wal_bytes;
  };
  put_some();
  auto reader = store.snapshot(kJob);
  REQUIRE(!store.candidates(*reader).empty());
  put_some();
  const std::uint64_t held = put_some();
  CHECK(put_some() > held + (1u << 20));  // nothing is reset while somebody reads

  reader.reset();
  store.maintain();
  const std::uint64_t peak = put_some();  // the writer begins again at the front
  for (int i = 0; i < 6; ++i) CHECK(put_some() <= peak);
  CHECK(store.all_lines(kJob).size() > 0);  // a whole query leaves no reader behind
  for (int i = 0; i < 6; ++i) CHECK(put_some() <= peak);
}

}  // namespace
}  // namespace logarithm::aggregator::test
