#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator/groups/template_groups.h"
#include "aggregator/query/job_view.h"
#include "common/async/blocking.h"

namespace logarithm::aggregator {

// Where a line of a template lies that no shard may know the text of.
struct TemplateSample {
  TemplateId id = 0;
  BlockRef block;
  std::uint64_t offset = 0;
};

// The groups of a job: of all templates that its shards store, and of those lines that are asked
// for. In turns, since each line that is read costs a block.
class JobGroups {
 public:
  static constexpr std::size_t kMaxBlocks = 2000;  // read for texts; the rest stay by themselves

  // Loads the stored templates.
  Status open(BlockingToken& token, JobView& view);
  bool knows(TemplateId id) const { return groups_.knows(id); }
  // Adds the texts of these lines; false: call again.
  Result<bool> add_lines(BlockingToken& token, JobView& view, std::vector<TemplateSample>& samples,
                         const std::function<bool()>& time_is_up);
  void build() { groups_.build(); }
  const TemplateGroups& groups() const { return groups_; }

 private:
  TemplateGroups groups_;
  std::size_t blocks_read_ = 0;
};

}  // namespace logarithm::aggregator
