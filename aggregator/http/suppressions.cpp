#include "aggregator/http/suppressions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/io/posix_file_system.h"

namespace logarithm::aggregator {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxFile = 64u << 20;
constexpr std::size_t kMaxName = 64, kMaxText = 1024;

Error invalid(const std::string& what) { return Error(ErrorCode::invalid, what); }

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), fits);
}

bool is_template(std::string_view id) {
  return id.size() == 16 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Status read_texts(const Json& object, const char* name, std::vector<std::string>& out) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->is_array()) return invalid(std::string(name) + " is an array of strings");
  for (const Json& item : *found) {
    if (!item.is_string() || item.get_ref<const std::string&>().empty() ||
        item.get_ref<const std::string&>().size() > kMaxText) {
      return invalid(std::string(name) + " holds strings of 1 to 1024 bytes");
    }
    out.push_back(item.get<std::string>());
  }
  return {};
}

Result<Suppression> read_list(const Json& object) {
  Suppression out;
  LGR_CHECK(read_texts(object, "callsites", out.callsites));
  LGR_CHECK(read_texts(object, "templates", out.templates));
  LGR_CHECK(read_texts(object, "texts", out.texts));
  for (const std::string& id : out.templates) {
    if (!is_template(id)) return invalid("templates are ids of 16 hex digits: " + id.substr(0, 64));
  }
  const std::size_t entries = out.callsites.size() + out.templates.size() + out.texts.size();
  if (entries == 0) return invalid("a list hides callsites, templates or texts");
  if (entries > SuppressionStore::kMaxEntries) {
    return Error(ErrorCode::too_large, "a list has at most 1000 entries");
  }
  return out;
}

Json to_json(const Suppression& list) {
  Json out = Json::object();
  if (!list.callsites.empty()) out["callsites"] = list.callsites;
  if (!list.templates.empty()) out["templates"] = list.templates;
  if (!list.texts.empty()) out["texts"] = list.texts;
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Suppression::filters() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& callsite : callsites) out.emplace_back("not_callsite", callsite);
  if (!templates.empty()) {
    std::string selector;
    for (const std::string& id : templates) {
      selector += (selector.empty() ? "{" : ", ") + ("template!=" + quoted(id));
    }
    out.emplace_back("query", selector + "}");
  }
  for (const std::string& text : texts) out.emplace_back("query", "!= " + quoted(text));
  return out;
}

Result<std::pair<std::string, Suppression>> parse_suppression(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return invalid("the body is a JSON object");
  for (const auto& [key, value] : object.items()) {
    if (key != "name" && key != "callsites" && key != "templates" && key != "texts") {
      return invalid("unknown member \"" + key.substr(0, 64) + "\"");
    }
  }
  const auto name = object.find("name");
  if (name == object.end() || !name->is_string() || !is_name(name->get_ref<const std::string&>())) {
    return invalid("name is 1 to 64 letters, digits, '_', '-' or '.'");
  }
  LGR_TRY(Suppression list, read_list(object));
  return std::pair(name->get<std::string>(), std::move(list));
}

Result<std::unique_ptr<SuppressionStore>> SuppressionStore::open(BlockingToken& token,
                                                                 std::string path) {
  std::unique_ptr<SuppressionStore> store(new SuppressionStore(std::move(path)));
  PosixFileSystem files;
  auto text = read_file(token, files, store->path_, kMaxFile);
  if (!text.ok()) {
    if (text.error().code() == ErrorCode::not_found) return store;
    return text.error();
  }
  const Json lists = Json::parse(*text, nullptr, false);
  if (!lists.is_array()) return Error(ErrorCode::corrupt, store->path_ + ": not a list");
  for (const Json& item : lists) {
    const auto field = [&](const char* name) {
      const auto found = item.is_object() ? item.find(name) : item.end();
      return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    auto list = item.is_object() ? read_list(item) : Result<Suppression>(invalid("not an object"));
    if (!list.ok() || !is_name(field("name"))) {
      return Error(ErrorCode::corrupt, store->path_ + ": a list that is none");
    }
    store->all_[{field("tenant"), field("job")}][field("name")] = std::move(*list);
  }
  return store;
}

std::optional<Suppression> SuppressionStore::find(const std::string& tenant, const std::string& job,
                                                  const std::string& name) const {
  const std::lock_guard lock(reading_);
  for (const std::string& scope : {job, std::string()}) {
    const auto lists = all_.find({tenant, scope});
    if (lists == all_.end()) continue;
    const auto found = lists->second.find(name);
    if (found != lists->second.end()) return found->second;
  }
  return std::nullopt;
}

SuppressionStore::Lists SuppressionStore::lists(const std::string& tenant,
                                                const std::string& job) const {
  const std::lock_guard lock(reading_);
  const auto found = all_.find({tenant, job});
  return found == all_.end() ? Lists() : found->second;
}

Status SuppressionStore::put(BlockingToken& token, const std::string& tenant,
                             const std::string& job, const std::string& name, Suppression list) {
  return change(token, [&](All& all) -> Status {
    std::size_t count = 0;
    for (const auto& [scope, lists] : all) count += lists.size();
    Lists& lists = all[{tenant, job}];
    const bool fresh = !lists.contains(name);
    if (fresh && (lists.size() >= kMaxLists || count >= kMaxAll)) {
      return Error(ErrorCode::too_large, "too many saved lists");
    }
    lists[name] = std::move(list);
    return {};
  });
}

Status SuppressionStore::erase(BlockingToken& token, const std::string& tenant,
                               const std::string& job, const std::string& name) {
  return change(token, [&](All& all) -> Status {
    if (all[{tenant, job}].erase(name) == 0) {
      return Error(ErrorCode::not_found, "no list \"" + name.substr(0, kMaxName) + "\"");
    }
    if (all[{tenant, job}].empty()) all.erase({tenant, job});
    return {};
  });
}

Status SuppressionStore::change(BlockingToken& token, const std::function<Status(All&)>& edit) {
  const std::lock_guard one_at_a_time(writing_);
  All next = all_;  // only we write it
  LGR_CHECK(edit(next));
  Json out = Json::array();
  for (const auto& [scope, lists] : next) {
    for (const auto& [name, list] : lists) {
      Json item = to_json(list);
      item["tenant"] = scope.first;
      if (!scope.second.empty()) item["job"] = scope.second;
      item["name"] = name;
      out.push_back(std::move(item));
    }
  }
  PosixFileSystem files;
  const std::string text = out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  LGR_CHECK(replace_file(token, files, path_, text));
  const std::lock_guard lock(reading_);
  all_ = std::move(next);
  return {};
}

}  // namespace logarithm::aggregator
