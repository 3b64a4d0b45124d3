#pragma once

#include "aggregator/store/doctor.h"

namespace logarithm::aggregator {

// The part of the doctor that looks at one shard; see doctor.h.
class ShardDoctor {
 public:
  ShardDoctor(std::string path, bool read_only) : path_(std::move(path)), read_only_(read_only) {}

  // Problems are in the report; an Error is one of the machine (no space, no permission).
  Status examine(BlockingToken& token);
  const ShardReport& report() const { return report_; }
  // Streams as the catalogue names them: "<base>.<generation>".
  const std::vector<std::string>& streams() const { return streams_; }
  std::uint32_t part() const { return part_; }

 private:
  struct Damaged {
    std::string table;
    std::int64_t id = 0, stream = 0;
    std::uint64_t first = 0, end = 0, lines = 0, raw_bytes = 0;
    std::string bytes, why;
  };
  struct Open;

  void problem(std::string what) { report_.problems.push_back(std::move(what)); }
  Status check_file(BlockingToken& token, Open& open);
  Status check_blocks(BlockingToken& token, Open& open, const std::string& table);
  Status check_block(BlockingToken& token, Open& open, const Damaged& row, std::string_view bytes,
                     std::uint64_t lines);
  Status check_index(BlockingToken& token, Open& open);
  Status rebuild_index(BlockingToken& token, Open& open);
  Status set_aside(BlockingToken& token, Open& open, const Damaged& block);
  Status move_aside(BlockingToken& token);
  void damaged(const Damaged& row, std::string_view bytes, std::string why);

  std::string path_;
  bool read_only_;
  ShardReport report_;
  std::vector<std::string> streams_;
  std::vector<Damaged> damaged_;
  std::uint32_t part_ = 0;
};

}  // namespace logarithm::aggregator
