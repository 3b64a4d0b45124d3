#include "common/io/file_system.h"

namespace logarithm {

Status replace_file(BlockingToken& token, FileSystem& files, const std::string& path,
                    std::string_view content) {
  const std::string temporary = path + ".tmp";
  {
    LGR_TRY(auto file, files.open_append(token, temporary));
    LGR_CHECK(file->truncate(token, 0));
    LGR_CHECK(file->append(token, content));
    LGR_CHECK(file->sync(token));
  }
  LGR_CHECK(files.rename(token, temporary, path));
  const std::size_t slash = path.rfind('/');
  return files.sync_dir(token, slash == std::string::npos ? "." : path.substr(0, slash));
}

Result<std::string> read_file(BlockingToken& token, FileSystem& files, const std::string& path,
                              std::uint64_t limit) {
  LGR_TRY(auto file, files.open_read(token, path));
  LGR_TRY(const std::uint64_t size, file->size(token));
  if (size > limit) {
    return Error(ErrorCode::too_large, path + ": " + std::to_string(size) + " bytes");
  }
  return file->read_at(token, 0, static_cast<std::size_t>(size));
}

}  // namespace logarithm
