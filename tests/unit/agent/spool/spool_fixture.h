#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/spool/spool.h"
#include "common/async/worker_pool.h"
#include "tests/support/fault_fs.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_fs.h"

namespace logarithm::agent::test {

using logarithm::test::FaultFs;
using logarithm::test::ManualClock;
using logarithm::test::MemoryFs;

inline StreamId stream_id(std::uint64_t n) { return {{7, n}, 0}; }

inline StreamCheckpoint checkpoint_of(const StreamId& stream, std::uint64_t position) {
  StreamCheckpoint checkpoint;
  checkpoint.stream = stream;
  checkpoint.attributes.job = "job";
  checkpoint.attributes.name = "stdout";
  checkpoint.head = "head of " + to_text(stream);
  checkpoint.position = position;
  checkpoint.tail_crc = static_cast<std::uint32_t>(position * 7);
  checkpoint.parser_state = "state at " + std::to_string(position);
  checkpoint.source = R"({"path":"/x","size":)" + std::to_string(position) + "}";
  return checkpoint;
}

// A block whose bytes say what it is; nothing here decodes them.
inline EncodedBlock block_of(const StreamId& stream, std::uint64_t first, std::uint64_t end,
                             std::vector<TemplateId> templates = {1}) {
  EncodedBlock block;
  block.header.stream = stream;
  block.header.first = first;
  block.header.end = end;
  block.bytes = "block " + to_text(stream) + " " + std::to_string(first) + "-" +
                std::to_string(end) + std::string(100, 'x');
  for (const TemplateId id : templates) {
    block.templates.push_back({id, TemplateKind::body, 1, "template " + std::to_string(id)});
  }
  return block;
}

// A spool on a file system in memory that can be killed, cut off and opened again.
struct SpoolFixture {
  MemoryFs memory;
  FaultFs files{memory};
  ManualClock clock;
  boost::asio::io_context io;
  SpoolOptions options;
  std::unique_ptr<Spool> spool;
  WorkerPool pool{1};

  SpoolFixture() {
    options.directory = "/state";
    options.segment_bytes = 4096;
    options.max_bytes = 1u << 20;
    options.min_free = 0;
  }
  ~SpoolFixture() { spool.reset(); }

  template <typename Function>
  auto on_file_thread(Function function) {
    return pool.run_and_wait(function);
  }
  Status open() {
    spool.reset();
    memory.kill();
    return on_file_thread([&](BlockingToken& token) -> Status {
      LGR_TRY(spool, Spool::open(token, options, files, clock));
      return {};
    });
  }
  Status append(const StreamId& stream, std::uint64_t first, std::uint64_t end,
                std::vector<TemplateId> templates = {1}) {
    const EncodedBlock block = block_of(stream, first, end, std::move(templates));
    const StreamCheckpoint checkpoint = checkpoint_of(stream, end);
    return on_file_thread(
        [&](BlockingToken& token) { return spool->append(token, checkpoint, &block); });
  }
  SpoolBatch next(SpoolCursor cursor = {}, std::size_t max_bytes = 1u << 20) {
    return on_file_thread(
        [&](BlockingToken& token) { return spool->next(token, std::move(cursor), max_bytes); });
  }
  void ack(std::vector<std::uint64_t> numbers) {
    on_file_thread([&](BlockingToken& token) { spool->ack(token, numbers); });
  }
  void tick() {
    clock.advance(io, std::chrono::seconds(1));
    on_file_thread([&](BlockingToken& token) { spool->tick(token); });
  }
  std::uint64_t position(const StreamId& stream) const {
    for (const StreamCheckpoint& checkpoint : spool->recovered()) {
      if (checkpoint.stream == stream) return checkpoint.position;
    }
    return 0;
  }
  std::vector<std::string> segments() const {
    std::vector<std::string> out;
    for (const std::string& path : memory.paths()) {
      if (path.ends_with(".seg")) out.push_back(path);
    }
    return out;
  }
};

}  // namespace logarithm::agent::test
