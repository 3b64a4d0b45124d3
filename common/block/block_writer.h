#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"

namespace logarithm {

struct EncodedBlock {
  std::string bytes;
  BlockHeader header;
  std::vector<TemplateDef> templates;  // every template that decoding needs
};

// Lines of one stream and one attribute version -> one block. One thread.
class BlockWriter {
 public:
  BlockWriter(StreamId stream, std::uint32_t attributes_version);
  ~BlockWriter();
  BlockWriter(BlockWriter&&) noexcept;
  BlockWriter& operator=(BlockWriter&&) noexcept;

  // Lines in offset order; the first sets `first` unless set_first() did, the last line or gap end
  // sets `end`.
  void add(const Line& line);
  void add_gap(const Gap& gap);
  void set_first(std::uint64_t first);
  void set_end(std::uint64_t end);
  // No part of any line is stored by a template: what a shard needs that holds another text under
  // one of the fingerprints. Stays set.
  void set_plain(bool plain);

  bool empty() const;  // neither lines nor gaps
  std::size_t lines() const;
  std::size_t raw_bytes() const;

  // Encodes and resets. `tail_crc` as in BlockHeader.
  Result<EncodedBlock> finish(std::uint32_t tail_crc);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace logarithm
