#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "aggregator/store/block_facts.h"
#include "aggregator/store/file_identity.h"
#include "aggregator/store/sqlite.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// Raw size from which a fresh block goes straight to `blocks`.
inline constexpr std::uint64_t kSealedAtOnce = 512u << 10;

// The writer of one part of a job: puts rows, decides nothing. All put_ functions must run inside a
// Transaction on database(); after a rollback call forget(). One thread at a time.
class Shard {
 public:
  struct Version {
    std::uint64_t from = 0;
    std::optional<std::int64_t> process;  // row of `processes`
    std::string axis;                     // iteration_axis(), a key of `processes` too
    std::string host;
  };
  struct Stream {
    std::int64_t row = 0;
    std::string head;
    std::vector<Range> ranges;  // of this part
    std::uint64_t tail_end = 0;
    std::uint32_t tail_crc = 0;
    bool closed = false;
    std::optional<IterationRun> run;  // the last one, which the next block may go on with
    std::map<std::uint32_t, Version> versions;
  };

  // Opens or creates. Error{corrupt} for a damaged file or one that belongs to another job or part.
  static Result<std::unique_ptr<Shard>> open(BlockingToken&, const std::string& path,
                                             const JobKey& job, std::uint32_t part,
                                             const Database::Options& options);

  // Reads the whole file for damage: only for when something is known to be wrong.
  Result<bool> is_whole(BlockingToken&);

  // Whether the files are still those that were opened.
  enum class Place { here, gone, no_wal };
  Result<Place> place(BlockingToken&);
  // Removes this database's WAL from beside a path where it does not lie any more.
  void remove_left_wal(BlockingToken&);

  Database& database() { return *database_; }
  std::uint32_t part() const { return part_; }

  // nullptr when this part does not know the stream. Valid until forget().
  Result<Stream*> find_stream(BlockingToken&, const StreamId& id);
  // All generations of a base that this part knows.
  Result<std::vector<StreamId>> generations(BlockingToken&, const StreamBase& base);
  Result<std::vector<StreamId>> streams(BlockingToken&);
  // All that put_stream() needs to repeat a stream in another part; empty when unknown.
  Result<std::vector<wire::StreamInfo>> stream_infos(BlockingToken&, const StreamId& id);

  Status put_stream(BlockingToken&, const wire::StreamInfo& info);
  Status put_process(BlockingToken&, const ProcessInfo& process);
  Status put_closed(BlockingToken&, Stream& stream, std::uint64_t size, std::string_view reason);
  Status put_gap(BlockingToken&, const Stream& stream, const Gap& gap);
  // Of the gaps that have an end.
  Result<std::vector<Range>> gaps(BlockingToken&, const Stream& stream);

  enum class PutTemplate { stored, conflict };
  Result<PutTemplate> put_template(BlockingToken&, const TemplateDef& definition);
  Result<bool> knows_template(BlockingToken&, TemplateId id);
  Result<std::optional<TemplateDef>> find_template(BlockingToken&, TemplateId id);

  // Stores a block that overlaps nothing, with all that follows from it.
  Status put_block(BlockingToken&, Stream& stream, const BlockHeader& header,
                   std::string_view bytes, const BlockFacts& facts, UnixNanos ingested);
  // The row alone, as the seal does it.
  Status put_block_row(BlockingToken&, std::string_view table, std::int64_t stream,
                       const BlockHeader& header, std::string_view bytes, UnixNanos ingested);

  // Readers reload what they cached when this changes; once in every writing transaction.
  Status count_commit(BlockingToken&);
  // Drops everything cached: it may not be in the file.
  void forget();

  std::uint64_t templates_since_optimize() const { return templates_since_optimize_; }
  Status optimize_index(BlockingToken&);
  // When the first block of this part came; nullopt without one. Cheap.
  Result<std::optional<UnixNanos>> first_ingested(BlockingToken&);
  // Pages in use, in bytes.
  Result<std::uint64_t> size(BlockingToken&);

 private:
  // Is the stored version of that number of another host, and does it tell a writer that `told`
  // does not know?
  Result<bool> knows_writer(BlockingToken&, const Stream& stream, const StreamAttributes& told);
  Shard(std::unique_ptr<Database> database, std::uint32_t part)
      : database_(std::move(database)), part_(part) {}
  Status check_identity(BlockingToken&, const JobKey& job);
  Result<std::int64_t> process_row(BlockingToken&, const std::string& key, std::string_view host);
  Result<std::int64_t> call_site_row(BlockingToken&, const std::string& site);
  Status extend_ranges(BlockingToken&, Stream& stream, Range range);
  // How a block's beginning lies to what is stored of its stream.
  enum class Follows { directly, after_hole, fills };
  // What a block adds to the hash of each iteration; moves stream.run on.
  static std::map<std::int64_t, std::uint64_t> iteration_amounts(Stream& stream,
                                                                 const BlockFacts& facts,
                                                                 Follows follows);
  Status put_iterations(BlockingToken&, Stream& stream, const BlockFacts& facts, std::int64_t axis,
                        Follows follows);
  Status put_facts(BlockingToken&, Stream& stream, const BlockHeader& header,
                   const BlockFacts& facts, Follows follows);

  std::unique_ptr<Database> database_;
  std::uint32_t part_;
  std::optional<FileIdentity> file_, wal_;  // as of the opening; none: not known
  std::unordered_map<StreamId, std::unique_ptr<Stream>> streams_;
  std::unordered_set<TemplateId> templates_;
  std::unordered_map<std::string, std::int64_t> call_sites_;
  std::unordered_set<std::int32_t> wrapper_ranks_;
  std::uint64_t templates_since_optimize_ = 0;
  std::optional<UnixNanos> first_ingested_;  // once known it does not change
};

}  // namespace logarithm::aggregator
