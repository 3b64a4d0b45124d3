#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/raw_plan.h"
#include "common/base/result.h"

namespace logarithm::cli {

// The files of `export --output raw --to DIR`. A file has its name when it is whole, "NAME.part"
// before. Which stream each was taken from is written down in DIR/.logarithm-export.json, so that a
// later export goes on with them, and never with those of another stream. One thread.
class ExportDirectory {
 public:
  // Makes the directory and notes what `parts` are taken from. Files whose part came from
  // elsewhere, or from nobody knows where, are removed: they are about to be replaced. Error{io}.
  static Result<ExportDirectory> open(const std::string& directory,
                                      const std::vector<RawPart>& parts);

  // The file is there, with all that was stored when the export was planned.
  bool whole(const RawPart& part) const;
  // Makes "NAME.part" of what is there, up to the end of its last line, and gives its size: that
  // many bytes of the part need not come again. 0 where bytes do not tell offsets (gaps).
  // Error{io}.
  Result<std::uint64_t> resume(const RawPart& part) const;
  // The part has come. Error{io}.
  Status finish(const RawPart& part) const;

  std::string partial(const RawPart& part) const { return name(part) + ".part"; }

 private:
  explicit ExportDirectory(std::string directory) : directory_(std::move(directory)) {}
  std::string name(const RawPart& part) const { return directory_ + "/" + part.file; }

  std::string directory_;
};

}  // namespace logarithm::cli
