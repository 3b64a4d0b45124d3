#include "cli/export_raw.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/export_directory.h"
#include "cli/line_printer.h"
#include "cli/progress.h"
#include "cli/raw_plan.h"
#include "cli/source.h"
#include "cli/verb.h"

namespace logarithm::cli {
namespace {

// What came of one part.
struct Fetched {
  std::uint64_t bytes = 0;
  std::uint64_t gaps = 0;
};

class RawExport {
 public:
  RawExport(ApiClient& api, const std::string& job, const Options& options)
      : api_(api), path_(job_path(job, "raw")), progress_(options.terminal) {}

  Status to_stdout(const RawPart& part) {
    StdoutWriter out;
    LGR_TRY(Fetched got,
            fetch(part, part.from, [&](std::string_view bytes) { return out.write(bytes); }));
    if (!out.finish()) return Error(ErrorCode::io, "stdout is closed");
    account(part, got);
    return {};
  }

  Status to_file(const RawPart& part, const ExportDirectory& directory) {
    if (directory.whole(part)) return {};
    LGR_TRY(const std::uint64_t have, directory.resume(part));
    const std::string name = directory.partial(part);
    std::FILE* file = std::fopen(name.c_str(), have == 0 ? "wb" : "ab");
    if (file == nullptr) return errno_error(errno, name);
    auto got = fetch(part, part.from + have, [&](std::string_view bytes) {
      return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    });
    const bool written = std::ferror(file) == 0;
    const int close_failed = std::fclose(file);
    if (!written || close_failed != 0) return errno_error(errno, name);
    if (!got.ok()) return got.error();
    got->bytes += have;
    account(part, *got);
    return directory.finish(part);
  }

  std::uint64_t incomplete() const { return incomplete_; }
  void clear_progress() { progress_.clear(); }

 private:
  Result<Fetched> fetch(const RawPart& part, std::uint64_t from,
                        const std::function<bool(std::string_view)>& write) {
    Params params;
    params.emplace_back("stream_id", part.stream_id);
    if (from != 0) params.emplace_back("from", std::to_string(from));
    if (part.to) params.emplace_back("to", std::to_string(*part.to));
    Fetched got;
    bool stopped = false;
    auto answer = api_.stream(path_, params, "", [&](std::string_view bytes) {
      got.bytes += bytes.size();
      total_ += bytes.size();
      progress_.tick("bytes", total_);
      stopped = !write(bytes);
      return !stopped;
    });
    if (!answer.ok()) return answer.error().with_context("stream " + part.stream_id);
    if (stopped) return Error(ErrorCode::io, "cannot write");
    const auto gaps = net::find_header(answer->headers, "X-Logarithm-Gaps");
    if (gaps) std::from_chars(gaps->data(), gaps->data() + gaps->size(), got.gaps);
    return got;
  }

  // Bytes that were stored when the plan was made and did not come are missing, gap or not.
  void account(const RawPart& part, const Fetched& got) {
    const std::uint64_t expected = part.end > part.from ? part.end - part.from : 0;
    if (got.gaps == 0 && got.bytes >= expected) return;
    ++incomplete_;
    progress_.clear();
    std::fprintf(stderr, "logarithm: stream %s (%s): %llu gaps, %llu of %llu bytes\n",
                 part.stream_id.c_str(), visible(part.name).c_str(),
                 static_cast<unsigned long long>(got.gaps),
                 static_cast<unsigned long long>(got.bytes),
                 static_cast<unsigned long long>(expected));
  }

  ApiClient& api_;
  std::string path_;
  Progress progress_;
  std::uint64_t total_ = 0;
  std::uint64_t incomplete_ = 0;
};

}  // namespace

int export_raw(ApiClient& api, const std::string& job, const Filters& filters,
               const Params& stream_params, const std::string& directory, const Options& options) {
  auto body = api.get(job_path(job, "streams"), stream_params);
  if (!body.ok()) return fail(body.error());
  // One file per stream; to stdout the parts follow one another by attempt.
  const RawCuts cuts = directory.empty() ? RawCuts::where_they_change : RawCuts::never;
  auto parts = plan_raw(nlohmann::json::parse(*body, nullptr, false), filters, cuts);
  if (!parts.ok()) return fail(parts.error());
  if (parts->empty()) return fail(Error(ErrorCode::not_found, "no stream matches"));
  std::optional<ExportDirectory> files;
  if (!directory.empty()) {
    auto opened = ExportDirectory::open(directory, *parts);
    if (!opened.ok()) return fail(opened.error());
    files = std::move(opened).value();
  }
  RawExport exporter(api, job, options);
  for (const RawPart& part : *parts) {
    const Status done = files ? exporter.to_file(part, *files) : exporter.to_stdout(part);
    exporter.clear_progress();
    if (!done.ok()) return fail(done.error());
  }
  if (exporter.incomplete() == 0) return kExitOk;
  std::fprintf(stderr, "logarithm: %llu of %zu streams are not whole\n",
               static_cast<unsigned long long>(exporter.incomplete()), parts->size());
  return kExitFailure;
}

}  // namespace logarithm::cli
