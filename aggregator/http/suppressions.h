#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// What a saved list hides from answers. Lines are stored all the same.
struct Suppression {
  std::vector<std::string> callsites;  // "file:line"
  std::vector<std::string> templates;  // 16 hex digits
  std::vector<std::string> texts;      // anywhere in the text
  bool operator==(const Suppression&) const = default;

  // The same as filter parameters of a request.
  std::vector<std::pair<std::string, std::string>> filters() const;
};

// "{"name":…,"callsites":[…],"templates":[…],"texts":[…]}" of a request. Error{invalid} says what
// is wrong.
Result<std::pair<std::string, Suppression>> parse_suppression(std::string_view json);

// Saved lists by tenant, job and name; job "" are the tenant's, for all of its jobs. One small
// file, replaced as a whole, so that a crash leaves the old or the new one. Thread-safe.
class SuppressionStore {
 public:
  using Lists = std::map<std::string, Suppression>;  // by name
  static constexpr std::size_t kMaxLists = 100;      // of a job or tenant
  static constexpr std::size_t kMaxEntries = 1000;   // of a list
  static constexpr std::size_t kMaxAll = 10'000;     // lists

  // Reads `path`; absent: empty. Error{corrupt} for a file that is not ours.
  static Result<std::unique_ptr<SuppressionStore>> open(BlockingToken& token, std::string path);

  // The job's list of this name, else the tenant's.
  std::optional<Suppression> find(const std::string& tenant, const std::string& job,
                                  const std::string& name) const;
  Lists lists(const std::string& tenant, const std::string& job) const;

  // Durable when they return. Error{too_large} past a bound, Error{not_found} for erase().
  Status put(BlockingToken& token, const std::string& tenant, const std::string& job,
             const std::string& name, Suppression list);
  Status erase(BlockingToken& token, const std::string& tenant, const std::string& job,
               const std::string& name);

 private:
  using All = std::map<std::pair<std::string, std::string>, Lists>;  // by (tenant, job)
  explicit SuppressionStore(std::string path) : path_(std::move(path)) {}
  Status change(BlockingToken& token, const std::function<Status(All&)>& edit);

  std::string path_;
  std::mutex writing_;
  mutable std::mutex reading_;
  All all_;
};

}  // namespace logarithm::aggregator
