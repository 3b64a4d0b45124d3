#include "cli/export_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string source_of(const RawPart& part) {
  return part.stream_id + "@" + std::to_string(part.from);
}

Error io_error(const std::string& name, const std::error_code& why) {
  return Error(ErrorCode::io, name + ": " + why.message());
}

// What is no record says nothing.
Json read_record(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  Json record = Json::parse(std::string(std::istreambuf_iterator<char>(in), {}), nullptr, false);
  return record.is_object() ? record : Json::object();
}

Status write_record(const std::string& name, const Json& record) {
  const std::string fresh = name + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << record.dump(1) << '\n';
  out.close();
  if (!out) return Error(ErrorCode::io, "cannot write " + fresh);
  std::error_code failed;
  fs::rename(fresh, name, failed);
  if (failed) return io_error(name, failed);
  return {};
}

// Bytes of the file up to its last line feed; what follows may be half a line.
Result<std::uint64_t> lines_end(const std::string& name, std::uint64_t size) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return errno_error(errno, name);
  std::string chunk;
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end > (64u << 10) ? end - (64u << 10) : 0;
    chunk.resize(end - begin);
    if (fseeko(file.get(), static_cast<off_t>(begin), SEEK_SET) != 0 ||
        std::fread(chunk.data(), 1, chunk.size(), file.get()) != chunk.size()) {
      return errno_error(errno, name);
    }
    const std::size_t at = chunk.rfind('\n');
    if (at != std::string::npos) return begin + at + 1;
    end = begin;
  }
  return std::uint64_t{0};
}

}  // namespace

Result<ExportDirectory> ExportDirectory::open(const std::string& directory,
                                              const std::vector<RawPart>& parts) {
  ExportDirectory out(directory);
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return io_error(directory, failed);
  const std::string record_name = directory + "/.logarithm-export.json";
  Json record = read_record(record_name);
  for (const RawPart& part : parts) {
    const std::string name = out.name(part);
    fs::create_directories(fs::path(name).parent_path(), failed);
    if (failed) return io_error(name, failed);
    const auto known = record.find(part.file);
    if (known != record.end() && *known == source_of(part)) continue;
    for (const std::string& file : {name, out.partial(part)}) {
      fs::remove(file, failed);
      if (failed) return io_error(file, failed);
    }
    record[part.file] = source_of(part);
  }
  LGR_CHECK(write_record(record_name, record));
  return out;
}

bool ExportDirectory::whole(const RawPart& part) const {
  std::error_code none;
  const auto size = fs::file_size(name(part), none);
  return !none && part.gapless && size == part.end - part.from;
}

Result<std::uint64_t> ExportDirectory::resume(const RawPart& part) const {
  std::error_code failed;
  const auto size_of = [](const std::string& file) {
    std::error_code none;
    const auto size = fs::file_size(file, none);
    return none ? std::uint64_t{0} : std::uint64_t{size};
  };
  const std::string whole_name = name(part), part_name = partial(part);
  if (!part.gapless) return std::uint64_t{0};
  // The stream has grown since its file was whole.
  if (size_of(whole_name) > size_of(part_name)) {
    fs::rename(whole_name, part_name, failed);
    if (failed) return io_error(part_name, failed);
  }
  const std::uint64_t size = size_of(part_name);
  if (size == 0 || size > part.end - part.from) return std::uint64_t{0};
  LGR_TRY(const std::uint64_t keep, lines_end(part_name, size));
  fs::resize_file(part_name, keep, failed);
  if (failed) return io_error(part_name, failed);
  return keep;
}

Status ExportDirectory::finish(const RawPart& part) const {
  std::error_code failed;
  fs::rename(partial(part), name(part), failed);
  if (failed) return io_error(name(part), failed);
  return {};
}

}  // namespace logarithm::cli
