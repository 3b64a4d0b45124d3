#include "agent/app.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "agent/discover/own_names.h"
#include "agent/discover/time_zone.h"
#include "common/async/service_watchdog.h"
#include "common/base/log_threshold.h"
#include "common/base/logging.h"
#include "common/io/descriptors.h"
#include "common/line/line_memory.h"

namespace logarithm::agent {
namespace {

namespace asio = boost::asio;

// Together under the ten seconds in which a stop must be over.
constexpr std::chrono::seconds kLastSend{5};
constexpr std::chrono::milliseconds kWatchdog{9500};
// `--once` gives up when nothing was acknowledged for so long.
constexpr std::chrono::seconds kOncePatience{60};
// … or when there was no session for so long.
constexpr std::chrono::seconds kOnceConnect{30};

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

// Two agents of one host (tests, quickstart) have two state directories and must not be one agent.
std::string agent_id(const std::string& host, const std::string& state_dir) {
  std::error_code ignored;
  const std::string absolute = std::filesystem::absolute(state_dir, ignored).string();
  return host + "#" + to_text(hash_base(absolute)).substr(0, 8);
}

}  // namespace

App::App(Settings settings, SettingsSource source)
    : config_(std::move(settings.config)),
      rules_(std::move(settings.rules)),
      reload_source_(std::move(source)),
      pause_(io_, asio::steady_timer::time_point::max()) {
  if (config_.host.empty()) config_.host = host_name();
}

Result<std::unique_ptr<App>> App::make(Settings settings, SettingsSource source) {
  std::vector<std::string> rule_problems = std::move(settings.rule_problems);
  std::unique_ptr<App> app(new App(std::move(settings), std::move(source)));
  LGR_CHECK(app->open());
  app->collector_->set_rule_problems(std::move(rule_problems));
  return app;
}

Status App::open() {
  LGR_TRY(net::Url url, net::parse_url(config_.aggregator));
  file_thread_ = std::make_unique<WorkerPool>(1);

  SpoolOptions spool;
  spool.directory = config_.state_dir;
  spool.max_bytes = config_.spool.max_bytes;
  spool.segment_bytes = config_.spool.segment_bytes;
  spool.min_free = config_.spool.min_free;
  LGR_TRY(spool_, file_thread_->run_and_wait([&](BlockingToken& token) {
    return Spool::open(token, spool, files_, clock_);
  }));

  DiscoveryOptions discover;
  discover.proc_root = config_.proc_root;
  discover.host = config_.host;
  discover.processes = config_.discover.processes;
  discover.files = config_.files;
  discover.exclude = {config_.state_dir};
  discover.own_names = own_names();
  if (config_.import) {
    ImportOptions import;
    import.job = config_.import->job;
    import.roots = config_.import->roots;
    import.path = config_.import->path;
    import.tz = config_.import->tz;
    if (!import.tz.empty() && !file_thread_->run_and_wait([&](BlockingToken& token) {
          return utc_offset_minutes(token, import.tz, clock_.wall_now());
        })) {
      return Error(ErrorCode::invalid, "import.tz: unknown time zone " + import.tz);
    }
    discover.import = std::move(import);
  }
  LGR_TRY(discovery_, Discovery::make(std::move(discover)));

  transport_ = std::make_unique<WsTransport>(std::move(url), config_.token);
  UplinkOptions uplink;
  uplink.agent = agent_id(config_.host, config_.state_dir);
  uplink.host = config_.host;
  uplink.version = LGR_VERSION;
  uplink.token = config_.token;
  uplink.seed = std::random_device{}();
  uplink.once = config_.once;
  if (config_.once) uplink.backoff_cap = std::chrono::milliseconds(2000);
  uplink_ = std::make_unique<Uplink>(std::move(uplink), io_.get_executor(), *spool_, *file_thread_,
                                     *transport_, heartbeats_, clock_);
  spool_->on_change([this] { uplink_->wake(); });

  FollowOptions follow;
  follow.once = config_.once;
  follow.proc_root = config_.proc_root;
  const std::size_t files = descriptors_for_files(raise_descriptor_limit());
  source_fs_.set_descriptor_cap(files);
  follow.max_open = std::min(follow.max_open, files / 2);
  follower_ = std::make_unique<Follower>(follow, source_fs_, *rules_, *spool_, *uplink_, clock_);
  collector_ =
      std::make_unique<Collector>(*discovery_, *follower_, *spool_, clock_, config_.discover.poll);
  open_kernel_log();
  heartbeats_.set(collector_.get());
  open_metrics();
  tasks_ = std::make_unique<TaskGroup>(io_.get_executor());
  return {};
}

void App::open_kernel_log() {
  if (config_.once) return;
  KernelLogOptions options;
  options.host = config_.host;
  options.boot_id = file_thread_->run_and_wait([&](BlockingToken&) {
    std::ifstream file(config_.proc_root + "/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id;
  });
  kernel_source_ = std::make_unique<KmsgSource>("/dev/kmsg");
  kernel_ = std::make_unique<KernelLog>(std::move(options), *kernel_source_, *rules_, *spool_,
                                        *uplink_, clock_);
  collector_->set_kernel_log(*kernel_, config_.discover.kernel_log);
}

void App::open_metrics() {
  if (config_.metrics == "off") return;
  const auto address = parse_host_port(config_.metrics);
  if (!address.ok()) return;  // validate() has said so
  metrics_handler_ = std::make_unique<MetricsHandler>([this] {
    return metrics_text(collector_->stats(), spool_->stats(), uplink_->stats()) +
           line_memory_metrics_text(line_memory_counters()) + rule_metrics_text(rules_->costs()) +
           reloads_.metrics_text("agent");
  });
  net::HttpServerOptions options;
  options.address = address->host;
  options.port = address->port;
  auto server = net::HttpServer::listen(io_, options, *metrics_handler_);
  if (!server.ok()) {
    // Not worth the job's logs: another agent on this host may have the port.
    LGR_WARN("no metrics error={}", server.error().to_string());
    return;
  }
  metrics_server_ = std::move(*server);
}

App::~App() {
  // The network is still by now: let the file thread end, deliver its answers to nobody, then take
  // the rest apart.
  reload_thread_.reset();
  file_thread_.reset();
  io_.restart();
  io_.poll();
}

Status App::run() {
  std::signal(SIGPIPE, SIG_IGN);
  set_log_threshold(config_.log_level);
  tasks_->spawn("signals", watch_signals());
  reload_signals_ =
      std::make_unique<ReloadSignals>(io_, *tasks_, service_, clock_, [this] { return reload(); });
  tasks_->spawn("reloads", reload_signals_->watch());
  tasks_->spawn("uplink", ship());
  if (metrics_server_ != nullptr) tasks_->spawn("metrics", serve_metrics());
  if (follower_->wake_fd() >= 0) tasks_->spawn("names", watch_names());
  tasks_->spawn("service", feed_service_watchdog(service_, clock_));
  tasks_->spawn("main", live());
  service_.notify("READY=1");
  LGR_INFO("collecting host={} aggregator={} state_dir={}", config_.host, config_.aggregator,
           config_.state_dir);

  Status joined;
  auto done = [&joined](std::exception_ptr thrown, Status status) {
    joined = thrown ? Status(Error(ErrorCode::io, "the main loop failed")) : std::move(status);
  };
  auto work = asio::make_work_guard(io_);
  auto ended = [&work, done](std::exception_ptr thrown, Status status) mutable {
    done(thrown, std::move(status));
    work.reset();
  };
  asio::co_spawn(io_, tasks_->join(), ended);
  io_.run();
  LGR_INFO("stopped all_stored={}", all_stored_);
  return outcome_.ok() ? joined : outcome_;
}

asio::awaitable<Status> App::watch_signals() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::signal_set signals(io_, SIGTERM, SIGINT);
  auto [broken, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (broken) co_return Status();
  LGR_INFO("stopping signal={}", number);
  service_.notify("STOPPING=1");
  stopping_ = true;
  reload_signals_->stop();
  pause_.cancel();
  tasks_->spawn("watchdog", watchdog());
  co_return Status();
}

// Reading and compiling happen on a thread of their own, so that following goes on; the change
// itself is one task of the file thread, between two turns: nothing waits for it that it waits for.
asio::awaitable<Result<std::vector<std::string>>> App::take_configuration() {
  if (!reload_source_) co_return Error(ErrorCode::unavailable, "there is nothing to read again");
  if (reload_thread_ == nullptr) reload_thread_ = std::make_unique<WorkerPool>(1);
  auto load = [source = reload_source_](BlockingToken&) { return source(); };
  Result<Settings> loaded = co_await reload_thread_->run(std::move(load));
  if (!loaded.ok()) co_return loaded.error();
  Reconfiguration change;
  change.rules = loaded->rules;
  change.kernel_log = loaded->config.discover.kernel_log;
  change.processes = loaded->config.discover.processes;
  change.poll = loaded->config.discover.poll;
  change.files = loaded->config.files;
  change.spool_max_bytes = loaded->config.spool.max_bytes;
  change.spool_segment_bytes = loaded->config.spool.segment_bytes;
  change.spool_min_free = loaded->config.spool.min_free;
  auto apply = [collector = collector_.get(), change = std::move(change)](BlockingToken& token) {
    return collector->reconfigure(token, change);
  };
  const Status applied = co_await file_thread_->run(std::move(apply));
  if (!applied.ok()) co_return applied.error();
  std::vector<std::string> restart = needs_restart(config_, loaded->config);
  take_settings(std::move(*loaded));
  co_return restart;
}

void App::take_settings(Settings settings) {
  rules_ = std::move(settings.rules);
  set_log_threshold(settings.config.log_level);
  config_.rules = std::move(settings.config.rules);
  config_.files = std::move(settings.config.files);
  config_.discover = settings.config.discover;
  config_.spool = settings.config.spool;
  config_.log_level = settings.config.log_level;
}

asio::awaitable<void> App::reload() {
  Result<std::vector<std::string>> taken = co_await take_configuration();
  if (taken.ok()) {
    reloads_.note(Status(), std::move(*taken));
    LGR_INFO("reloaded rules={} files={}", rules_->size(), config_.files.size());
  } else {
    reloads_.note(taken.error(), {});
  }
  tell_reload();
}

// The aggregator's status shows it beside what else is wrong with this agent's configuration.
void App::tell_reload() {
  std::vector<std::string> problems;
  if (reloads_.last_failed) {
    problems.push_back("not reloaded, the former configuration stays:");
    problems.insert(problems.end(), reloads_.problems.begin(), reloads_.problems.end());
  } else {
    for (const std::string& key : reloads_.needs_restart) {
      problems.push_back(key + ": changed, needs a restart");
    }
  }
  auto tell = [collector = collector_.get(), problems = std::move(problems)](BlockingToken&) {
    collector->set_config_problems(problems);
    return Status();
  };
  file_thread_->post(std::move(tell));
}

// A hung mount must not hold the exit: what is spooled is safe, and so is what was not read.
asio::awaitable<Status> App::watchdog() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer timer(io_, kWatchdog);
  auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (cancelled) co_return Status();
  LGR_ERROR("a file operation hangs: leaving without it");
  std::_Exit(1);
}

asio::awaitable<Status> App::ship() {
  co_await asio::this_coro::throw_if_cancelled(false);
  Status ended = co_await uplink_->run();
  uplink_ended_ = true;
  pause_.cancel();
  co_return ended;
}

asio::awaitable<Status> App::serve_metrics() {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await metrics_server_->run();
  co_return Status();
}

asio::awaitable<Status> App::watch_names() {
  co_await asio::this_coro::throw_if_cancelled(false);
  // A duplicate, so that the follower's stays the follower's.
  asio::posix::stream_descriptor names(io_, ::dup(follower_->wake_fd()));
  asio::steady_timer timer(io_);
  while (!stopping_) {
    auto [broken] = co_await names.async_wait(asio::posix::stream_descriptor::wait_read,
                                              asio::as_tuple(asio::use_awaitable));
    if (broken) break;
    woken_ = true;
    pause_.cancel();
    // It stays readable until the turn has taken what is there.
    timer.expires_after(std::chrono::milliseconds(5));
    auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (cancelled) break;
  }
  co_return Status();
}

asio::awaitable<void> App::pause(std::chrono::milliseconds time) {
  pause_.expires_after(time);
  co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<bool> App::collect() {
  MonotonicTime connected = clock_.now();
  while (!stopping_) {
    // Without answers of the aggregator older files are not read: `once` must not wait for ever.
    if (uplink_->stats().connected) connected = clock_.now();
    if (config_.once && (uplink_ended_ || clock_.now() - connected > kOnceConnect)) break;
    woken_ = false;
    auto turn = [collector = collector_.get()](BlockingToken& token) {
      return collector->turn(token);
    };
    const TurnReport report = co_await file_thread_->run(std::move(turn));
    if (report.finished && config_.once) co_return true;
    if (!report.more && !woken_ && !stopping_) co_await pause(report.wait);
  }
  co_return false;
}

asio::awaitable<bool> App::drained() {
  if (!uplink_->idle()) co_return false;
  auto look = [spool = spool_.get()](BlockingToken&) { return Result<bool>(spool->drained()); };
  const Result<bool> empty = co_await file_thread_->run(std::move(look));
  co_return *empty && uplink_->idle();
}

asio::awaitable<bool> App::deliver(MonotonicTime deadline, bool reset_by_progress) {
  const auto patience = deadline - clock_.now();
  std::uint64_t acked = uplink_->stats().acked_blocks;
  while (!uplink_ended_ && clock_.now() < deadline && !(reset_by_progress && stopping_)) {
    const bool empty = co_await drained();
    if (empty) co_return true;
    const std::uint64_t now_acked = uplink_->stats().acked_blocks;
    if (reset_by_progress && now_acked != acked) deadline = clock_.now() + patience;
    acked = now_acked;
    co_await pause(std::chrono::milliseconds(20));
  }
  co_return false;
}

asio::awaitable<Status> App::live() {
  co_await asio::this_coro::throw_if_cancelled(false);
  const bool finished = co_await collect();
  if (finished) {
    all_stored_ = co_await deliver(clock_.now() + kOncePatience, true);
  }
  if (!all_stored_) {
    auto drain = [collector = collector_.get()](BlockingToken& token) {
      return collector->drain(token);
    };
    const Status read = co_await file_thread_->run(std::move(drain));
    if (!read.ok()) LGR_WARN("last reading error={}", read.error().to_string());
    uplink_->wake();
    uplink_->hurry();
    all_stored_ = co_await deliver(clock_.now() + kLastSend, false);
  }
  if (config_.once) {
    print_summary();
    if (!all_stored_) {
      const auto& why = uplink_->last_error();
      outcome_ = Error(ErrorCode::unavailable,
                       "not everything is stored" + (why ? ": " + why->message() : ""));
    }
  }
  auto close = [spool = spool_.get()](BlockingToken& token) { return spool->close(token); };
  const Status closed = co_await file_thread_->run(std::move(close));
  if (!closed.ok()) LGR_WARN("spool not closed error={}", closed.error().to_string());
  uplink_->stop(config_.once && all_stored_);
  if (metrics_server_ != nullptr) metrics_server_->stop(std::chrono::milliseconds(200));
  while (!uplink_ended_) co_await pause(std::chrono::milliseconds(20));
  tasks_->request_stop();
  co_return Status();
}

void App::print_summary() const {
  const CollectorStats& stats = collector_->stats();
  std::printf("files %llu\nstreams %llu\nlines %llu\nbytes %llu\nnot captured %zu\n",
              static_cast<unsigned long long>(stats.targets.load()),
              static_cast<unsigned long long>(spool_->stats().streams.load()),
              static_cast<unsigned long long>(stats.lines.load()),
              static_cast<unsigned long long>(stats.bytes.load()),
              collector_->not_captured().size());
  for (const wire::NotCaptured& item : collector_->not_captured()) {
    std::printf("  %s: %s\n", item.what.c_str(), item.reason.c_str());
  }
  std::printf("stored %s\n", all_stored_ ? "all" : "not all");
  std::fflush(stdout);
}

}  // namespace logarithm::agent
