#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/follow/cut_count.h"
#include "agent/follow/follower.h"

namespace logarithm::agent {

// One followed file (inode): at most one reader, whatever its names. Private to the follower.
struct Follower::Tail {
  enum class State {
    fresh,   // not decided yet: empty, or not looked at
    copy,    // a copytruncate copy: its bytes belong to another stream, never read
    asking,  // waits unread for the aggregator's answer
    live,    // `writer` is there
    closed,  // ended; opened again when it grows
  };

  Tail(StreamBase b, TailedFile f) : base(b), file(std::move(f)) {}

  StreamBase base;
  TailedFile file;
  bool network = false;
  bool imported = false;
  // Estimated; see import_zone.h.
  std::optional<std::int32_t> import_zone;
  std::optional<UnixNanos> import_boot;
  std::string host;
  State state = State::fresh;
  std::unique_ptr<StreamWriter> writer;
  // While its writes are counted, under this path: a rotation may be under way, or there were some.
  std::unique_ptr<CutCount> cut;
  std::string counted;
  std::optional<std::uint64_t> settles_at;  // events before it was read to its end
  std::vector<Target*> targets;
  Names paths;                   // every path it was seen under, newest last
  std::uint32_t generation = 0;  // to start with when nothing is known
  std::optional<std::uint32_t> predecessor;
  bool starts_next = false;          // the last generation was cut under us: begin the next
  StreamAttributes last_attributes;  // what its targets said last
  std::vector<StreamBase> copies;
  std::uint64_t closed_at_size = 0;

  bool changed = true;          // look at it in this step
  std::uint64_t read_turn = 0;  // the turn of the last look at a live one
  bool at_end = false;          // nothing to read as of the last look
  bool is_slow = false;         // it has so few lines that it is not looked at in each turn
  bool asked = false;
  std::optional<std::uint64_t> scan;  // unread bytes wait until more scans were made than this
  MonotonicTime scan_since;
  bool shared = false;        // several processes of different ranks wrote this version
  bool facts_changed = true;  // targets or names: attributes may need a version
  bool moved = false;         // a target lost it: ask the descriptor for the new name
  std::optional<MonotonicTime> unnamed_since;  // no target names it
  std::optional<MonotonicTime> deleted_since;  // no link left

  // While it may be a copy of another file.
  std::optional<StreamId> original;
  MonotonicTime copy_since;
  std::uint64_t copy_size = 0;
  std::uint64_t found_turn = 0;  // the turn in which that was asked first
  bool no_copy = false;
  bool compared = false;  // with ended generations of its originals
};

struct Follower::Target {
  FollowTarget facts;
  Tail* tail = nullptr;
  bool looked = false;
  bool stale = false;  // its name leads to a removed file, which was told
  bool done = false;   // `once`: nothing (more) to read: missing, empty or unreadable
};

}  // namespace logarithm::agent
