#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/sqlite_storage.h"
#include "common/async/worker_pool.h"
#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "common/line/template.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_dir.h"

namespace logarithm::aggregator::test {

inline constexpr UnixNanos kStart = 1'796'000'000'000'000'000;

inline StreamId stream_of(std::string_view name, std::uint32_t generation = 0) {
  return StreamId{hash_base(name), generation};
}

inline JobKey key_of(std::string job, std::string tenant = "default") {
  JobKey key;
  key.tenant = std::move(tenant);
  key.job = std::move(job);
  return key;
}

// A line of plain text; its time is its offset in microseconds.
inline Line make_line(std::uint64_t offset, std::string text) {
  Line line;
  line.offset = line.head = offset;
  line.length = text.size() + 1;
  line.raw = std::move(text);
  line.terminator = Terminator::lf;
  line.time = line.observed = kStart + static_cast<UnixNanos>(offset) * 1000;
  line.template_id = template_of(line.raw);
  return line;
}

// Lines of these texts, one after the other from `first`.
inline std::vector<Line> make_lines(std::uint64_t first, const std::vector<std::string>& texts) {
  std::vector<Line> lines;
  for (const std::string& text : texts) {
    lines.push_back(make_line(first, text));
    first = lines.back().end();
  }
  return lines;
}

inline std::vector<Line> numbered_lines(std::uint64_t first, int count, std::string word = "step") {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(word + " " + std::to_string(i) + " is done");
  return make_lines(first, texts);
}

inline wire::StreamInfo info_of(const StreamId& stream, const std::string& job,
                                std::uint32_t version = 1) {
  wire::StreamInfo info;
  info.stream = stream;
  info.head = "first line";
  info.attributes.version = version;
  info.attributes.job = job;
  info.attributes.host = "node1";
  info.attributes.name = "stdout";
  return info;
}

struct MadeBlock {
  wire::Block block;
  wire::Templates templates;
};

inline MadeBlock make_block(const StreamId& stream, const std::string& job,
                            const std::vector<Line>& lines, std::uint32_t version = 1,
                            const std::vector<Gap>& gaps = {}) {
  BlockWriter writer(stream, version);
  for (const Line& line : lines) writer.add(line);
  for (const Gap& gap : gaps) writer.add_gap(gap);
  auto encoded = writer.finish(static_cast<std::uint32_t>(lines.back().end()));
  LGR_ASSERT(encoded.ok());
  MadeBlock made;
  made.block.stream = stream;
  made.block.job = job;
  made.block.first = encoded->header.first;
  made.block.end = encoded->header.end;
  made.block.bytes = std::move(encoded->bytes);
  made.templates.templates = std::move(encoded->templates);
  return made;
}

// A storage in a directory of its own, called through one worker.
class Store {
 public:
  explicit Store(SqliteStorageOptions options = {}, std::string path = {})
      : options_(std::move(options)) {
    options_.data_dir = path.empty() ? directory_.path() : std::move(path);
    open();
  }

  template <typename Function>
  auto run(Function function) {
    return worker_.run_and_wait(std::move(function));
  }

  void close() { storage_.reset(); }
  void open() {
    storage_.reset();
    storage_ = run([&](BlockingToken& token) {
      auto opened = SqliteStorage::open(token, options_, clock);
      LGR_ASSERT(opened.ok());
      return std::shared_ptr<SqliteStorage>(std::move(*opened));
    });
  }

  Result<std::vector<IngestOutcome>> apply(const JobKey& key, std::vector<IngestItem> items) {
    return run([&](BlockingToken& token) { return storage_->apply(token, key, items); });
  }
  // Applies one block with its templates and its stream's info; the outcome of the block.
  IngestOutcome put(const JobKey& key, const MadeBlock& made, std::uint32_t version = 1) {
    std::vector<IngestItem> items;
    items.push_back(info_of(made.block.stream, key.job, version));
    items.push_back(made.templates);
    items.push_back(made.block);
    auto outcomes = apply(key, std::move(items));
    LGR_ASSERT(outcomes.ok());
    return outcomes->back();
  }
  bool maintain() {
    auto more = run([&](BlockingToken& token) { return storage_->maintain(token); });
    LGR_ASSERT(more.ok());
    return *more;
  }
  std::vector<StoredGeneration> stored(const JobKey& key, const StreamBase& base) {
    auto result = run([&](BlockingToken& token) { return storage_->stored(token, key, base); });
    LGR_ASSERT(result.ok());
    return *result;
  }
  std::shared_ptr<JobSnapshot> snapshot(const JobKey& key) {
    auto result = run([&](BlockingToken& token) { return storage_->snapshot(token, key); });
    LGR_ASSERT(result.ok());
    return *result;
  }
  std::vector<BlockRef> candidates(JobSnapshot& snapshot, const BlockFilter& filter = {}) {
    auto result = run([&](BlockingToken& token) { return snapshot.candidates(token, filter); });
    LGR_ASSERT(result.ok());
    return *result;
  }
  std::vector<Line> lines(JobSnapshot& snapshot, const BlockRef& ref) {
    return run([&](BlockingToken& token) {
      auto bytes = snapshot.block_bytes(token, ref);
      LGR_ASSERT(bytes.ok());
      auto reader = BlockReader::open(*bytes);
      LGR_ASSERT(reader.ok());
      auto lookup = [&](TemplateId id) -> std::optional<std::string_view> {
        auto text = snapshot.template_text(token, ref.shard, id);
        LGR_ASSERT(text.ok());
        return *text;
      };
      auto decoded = reader->lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup);
      LGR_ASSERT(decoded.ok());
      return *decoded;
    });
  }
  // "<stream>:<offset> <raw>" of every line of the job, sorted.
  std::vector<std::string> all_lines(const JobKey& key) {
    auto view = snapshot(key);
    std::vector<std::string> result;
    for (const BlockRef& ref : candidates(*view)) {
      const std::string stream = to_text(view->streams()[ref.stream].id);
      for (const Line& line : lines(*view, ref)) {
        result.push_back(stream + ":" + std::to_string(line.offset) + " " + line.raw);
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  SqliteStorage& storage() { return *storage_; }
  const std::string& path() const { return options_.data_dir; }
  logarithm::test::ManualClock clock;

 private:
  logarithm::test::TempDir directory_;
  SqliteStorageOptions options_;
  WorkerPool worker_{1};
  std::shared_ptr<SqliteStorage> storage_;
};

// Why it was refused.
inline wire::RefuseCode code_of(const IngestOutcome& outcome) {
  REQUIRE(outcome.refuse.has_value());
  CHECK_FALSE(outcome.stored);
  return outcome.refuse->code;
}

}  // namespace logarithm::aggregator::test
