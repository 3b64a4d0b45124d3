#include "aggregator/http/router.h"

#include <set>
#include <utility>

namespace logarithm::aggregator {

void Router::add(std::string method, std::string_view pattern, Handler handler) {
  Route route;
  route.method = std::move(method);
  route.handler = std::move(handler);
  const auto open = pattern.find('{'), close = pattern.find('}');
  route.prefix = pattern.substr(0, open);
  if (open != std::string_view::npos) {
    route.has_capture = true;
    route.suffix = pattern.substr(close + 1);
  }
  routes_.push_back(std::move(route));
}

std::optional<std::string> Router::Route::capture_of(std::string_view path) const {
  if (!has_capture) return path == prefix ? std::optional<std::string>("") : std::nullopt;
  if (path.size() <= prefix.size() + suffix.size()) return std::nullopt;
  if (!path.starts_with(prefix) || !path.ends_with(suffix)) return std::nullopt;
  path.remove_prefix(prefix.size());
  path.remove_suffix(suffix.size());
  return std::string(path);
}

std::variant<Router::Match, Router::WrongMethod, Router::NoSuchPath> Router::find(
    std::string_view method, std::string_view path) const {
  const Route* best = nullptr;
  std::string capture;
  std::set<std::string> allowed;
  for (const Route& route : routes_) {
    auto captured = route.capture_of(path);
    if (!captured) continue;
    if (route.method != method) {
      allowed.insert(route.method);
      continue;
    }
    const auto fixed = [](const Route& r) { return r.prefix.size() + r.suffix.size(); };
    if (best != nullptr && fixed(*best) >= fixed(route)) continue;
    best = &route;
    capture = std::move(*captured);
  }
  if (best != nullptr) return Match{&best->handler, std::move(capture)};
  if (allowed.contains("GET")) allowed.insert("HEAD");
  std::string allow;
  for (const std::string& one : allowed) allow += (allow.empty() ? "" : ", ") + one;
  if (!allow.empty()) return WrongMethod{std::move(allow)};
  return NoSuchPath{};
}

}  // namespace logarithm::aggregator
