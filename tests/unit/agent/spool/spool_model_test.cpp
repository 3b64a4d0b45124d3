#include <cstdlib>
#include <map>
#include <random>

#include "tests/unit/agent/spool/spool_fixture.h"

namespace logarithm::agent::test {
namespace {

// What the outside knows: files that only grow, and an aggregator that stores ranges. After every
// fault each stream must go on at or before the end of what is safe (spooled or stored), so that
// reading the file again from there gives every byte.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {
    f_.options.segment_bytes = 3000;
    f_.options.max_bytes = 40000;
    REQUIRE(f_.open().ok());
  }

  void step() {
    const auto dice = random_() % 100;
    if (dice < 55) {
      append();
    } else if (dice < 75) {
      ack();
    } else if (dice < 85) {
      f_.tick();
      for (const StreamCheckpoint& checkpoint : f_.spool->recovered()) {
        synced_[checkpoint.stream] = checkpoint.position;
      }
    } else if (dice < 92) {
      reopen(spooled_);
    } else if (dice < 97) {
      f_.memory.crash();
      reopen(synced_);
    } else {
      corrupt();
    }
  }

  // At the end everything read is stored, once all blocks are delivered.
  void finish() {
    deliver(1u << 30);
    for (const auto& [stream, end] : read_) {
      CAPTURE(to_text(stream));
      CHECK(stored_[stream] >= end);
    }
  }

 private:
  void append() {
    const StreamId stream = stream_id(random_() % 4);
    const std::uint64_t from = read_[stream], to = from + 1 + random_() % 50;
    const Status status = f_.append(stream, from, to, {random_() % 20 + 1, random_() % 20 + 30});
    if (status.ok()) {
      read_[stream] = spooled_[stream] = to;
    } else {
      CHECK(status.error().code() == ErrorCode::no_space);
      deliver(1000000);
    }
  }

  void ack() { deliver(1 + random_() % 600); }

  void deliver(std::size_t bytes) {
    const SpoolBatch batch = f_.next({}, bytes);
    std::vector<std::uint64_t> numbers;
    std::map<StreamId, std::uint64_t> order;
    for (const SpooledBlock& block : batch.blocks) {
      const StreamId& stream = block.block.stream;
      if (order.contains(stream)) CHECK(order[stream] <= block.block.first);
      order[stream] = block.block.end;
      CHECK(block.block.bytes == block_of(stream, block.block.first, block.block.end).bytes);
      // Nothing may be skipped: a block starts at or before the end of what is stored.
      CHECK(block.block.first <= stored_[stream]);
      stored_[stream] = std::max(stored_[stream], block.block.end);
      numbers.push_back(block.number);
    }
    f_.ack(numbers);
  }

  // `durable` is what must have survived; a stream that the spool no longer knows is resumed at the
  // end of what the aggregator has, as follow does.
  void reopen(std::map<StreamId, std::uint64_t> durable) {
    REQUIRE(f_.open().ok());
    std::map<StreamId, std::uint64_t> known;
    for (const StreamCheckpoint& checkpoint : f_.spool->recovered()) {
      known[checkpoint.stream] = checkpoint.position;
    }
    for (auto& [stream, end] : read_) {
      CAPTURE(to_text(stream));
      const auto found = known.find(stream);
      if (found == known.end()) {
        CHECK((damaged_ || durable[stream] == 0));
        deliver(1u << 30);
        end = stored_[stream];
      } else {
        CHECK(found->second <= end);
        CHECK(found->second >= durable[stream]);
        end = found->second;
      }
      // Known again only with the next append.
      synced_[stream] = spooled_[stream] = found == known.end() ? 0 : end;
    }
  }

  void corrupt() {
    const auto segments = f_.segments();
    if (segments.empty()) return;
    f_.memory.flip(segments[random_() % segments.size()], random_(), random_() % 8);
    damaged_ = true;
    reopen({});
  }

  bool damaged_ = false;
  SpoolFixture f_;
  std::mt19937_64 random_;
  std::map<StreamId, std::uint64_t> read_, spooled_, synced_, stored_;
};

}  // namespace

TEST_CASE("Spool: random appends, acks, kills, power cuts and damage lose and skip nothing") {
  const char* given = std::getenv("LGR_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const std::uint64_t count = given != nullptr ? 1 : 60;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    Model model(seed);
    for (int i = 0; i < 300; ++i) model.step();
    model.finish();
  }
}

}  // namespace logarithm::agent::test
