#include "aggregator/app.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <utility>

#include "aggregator/ready_file.h"
#include "common/async/service_watchdog.h"
#include "common/base/log_threshold.h"
#include "common/base/logging.h"
#include "common/net/listen_address.h"

namespace logarithm::aggregator {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kWriterThreads = 2, kQueryThreads = 2;
constexpr std::chrono::milliseconds kStopGrace{5000};
constexpr std::chrono::seconds kUpkeepEvery{1};
constexpr std::chrono::seconds kTrimEvery{5};
// Each arena keeps its own free memory; the default is eight a core.
constexpr int kArenas = 4;
constexpr int kTailNice = 5;

std::chrono::nanoseconds from_seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

Result<std::unique_ptr<App>> App::make(AggregatorConfig config, SettingsSource source) {
  auto lock = DataLock::take(config.data_dir);
  if (!lock.ok()) return config.origins.error("data_dir", lock.error());
  std::unique_ptr<App> app(new App(std::move(config), std::move(source), std::move(*lock)));
  LGR_CHECK(app->open());
  return app;
}

App::App(AggregatorConfig config, SettingsSource source, DataLock lock)
    : config_(std::move(config)), reload_source_(std::move(source)), lock_(std::move(lock)) {}

Status App::open() {
  ::mallopt(M_ARENA_MAX, kArenas);
  writing_ = std::make_unique<WorkerPool>(kWriterThreads);
  querying_ = std::make_unique<WorkerPool>(kQueryThreads);
  upkeep_ = std::make_unique<WorkerPool>(1);
  tailing_ = std::make_unique<WorkerPool>(1);
  // Whoever watches must not slow what is watched. Relative to the others: a service that runs
  // niced as a whole must not lift its tails above them.
  tailing_->post([](BlockingToken&) {
    const auto self = static_cast<id_t>(::gettid());
    ::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + kTailNice);
    return Status();
  });

  SqliteStorageOptions options;
  options.data_dir = config_.data_dir;
  options.min_free_bytes = config_.store.min_free;
  options.jobs.max_part_bytes = config_.store.part_bytes;
  options.jobs.max_part_age = config_.store.part_age;
  options.retention = config_.retention;
  auto opened = upkeep_->run_and_wait(
      [&](BlockingToken& token) { return SqliteStorage::open(token, options, clock_); });
  if (!opened.ok()) {
    return config_.origins.error("data_dir",
                                 opened.error().with_context("open " + config_.data_dir));
  }
  storage_ = std::move(opened).value();
  auto lists = upkeep_->run_and_wait([&](BlockingToken& token) {
    return SuppressionStore::open(token, config_.data_dir + "/suppressions.json");
  });
  if (!lists.ok()) return lists.error().with_context("open " + config_.data_dir);
  suppressions_ = std::move(lists).value();

  writers_ = std::make_unique<WriterPool>(*storage_, *writing_, io_.get_executor(), clock_,
                                          WriterPool::Options());
  writers_->on_committed([this](const Commit& commit) {
    commit_seconds_.observe(from_seconds(commit.seconds));
    if (commit.freshness) freshness_seconds_.observe(from_seconds(*commit.freshness));
    tails_->on_commit(commit.job);
  });
  const auto authenticate = [this](const std::string& token) {
    return tenant_of_token(token, config_.tokens);
  };
  hub_ = std::make_unique<IngestHub>(*storage_, *writers_, *writing_, io_.get_executor(), clock_,
                                     authenticate, IngestOptions());
  agents_ = std::make_unique<RegistryView>(hub_->agents(), clock_);
  ingest_ = std::make_unique<IngestEndpoint>(*hub_);
  QueryOptions query;
  query.deadline = config_.query.deadline;
  query.max_concurrent = config_.query.max_concurrent;
  query.memory = config_.query.memory;
  queries_ = std::make_unique<QueryRunner>(*querying_, clock_, query);
  tails_ = std::make_unique<TailHub>(*storage_, *tailing_, io_.get_executor(), clock_, encode_line,
                                     TailHubOptions());
  tail_ = std::make_unique<TailEndpoint>(*tails_, clock_);
  api_ = std::make_unique<Api>(*storage_, *queries_, *agents_, *ingest_, config_.tokens);
  api_->set_tail(*tail_);
  api_->set_suppressions(*suppressions_);
  api_->set_more_metrics([this](std::string& out) { write_metrics(out); });
  api_->set_more_status([this](JsonWriter& out) { write_reloads(reloads_, out); });

  LGR_TRY(net::ListenAddress listen, net::parse_listen(config_.listen));
  net::HttpServerOptions http;
  http.address = listen.host;
  http.port = listen.port;
  auto server = net::HttpServer::listen(io_, http, *api_);
  if (!server.ok()) return config_.origins.error("listen", server.error());
  server_ = std::move(*server);
  tasks_ = std::make_unique<TaskGroup>(io_.get_executor());
  return {};
}

App::~App() {
  // The network is still by now (run() has returned, or never began): let what blocks end, deliver
  // its answers to nobody, then take the rest apart.
  querying_.reset();
  tailing_.reset();
  upkeep_.reset();
  writing_.reset();
  io_.restart();
  io_.poll();
}

std::string App::address() const {
  const std::string host = server_->address();
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(server_->port());
}

Status App::run() {
  std::signal(SIGPIPE, SIG_IGN);
  set_log_threshold(config_.log_level);
  if (!config_.ready_file.empty()) {
    const Status written = write_ready_file(config_.ready_file, address());
    if (!written.ok()) return config_.origins.error("ready_file", written.error());
  }
  tasks_->spawn("signals", watch_signals());
  reload_signals_ =
      std::make_unique<ReloadSignals>(io_, *tasks_, service_, clock_, [this] { return reload(); });
  tasks_->spawn("reloads", reload_signals_->watch());
  tasks_->spawn("upkeep", maintain());
  tasks_->spawn("http", serve());
  tasks_->spawn("service", feed_service_watchdog(service_, clock_));
  api_->set_ready(true);
  service_.notify("READY=1");
  LGR_INFO("serving address={} data_dir={}", address(), config_.data_dir);

  Status outcome;
  auto joined = [&outcome](std::exception_ptr thrown, Status status) {
    if (thrown) outcome = Error(ErrorCode::io, "the main loop failed");
    if (!thrown) outcome = std::move(status);
  };
  asio::co_spawn(io_, tasks_->join(), joined);
  io_.run();
  if (!config_.ready_file.empty()) remove_ready_file(config_.ready_file);
  LGR_INFO("stopped address={}", address());
  return outcome;
}

asio::awaitable<Status> App::watch_signals() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::signal_set signals(io_, SIGTERM, SIGINT);
  auto [broken, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!broken) {
    LGR_INFO("stopping signal={}", number);
    service_.notify("STOPPING=1");
    stop();
  }
  co_return Status();
}

asio::awaitable<void> App::reload() {
  Result<std::vector<std::string>> taken = co_await take_configuration();
  if (taken.ok()) {
    reloads_.note(Status(), std::move(*taken));
    LGR_INFO("reloaded");
  } else {
    reloads_.note(taken.error(), {});
  }
}

asio::awaitable<Result<std::vector<std::string>>> App::take_configuration() {
  if (!reload_source_) co_return Error(ErrorCode::unavailable, "there is nothing to read again");
  auto load = [source = reload_source_](BlockingToken&) { return source(); };
  Result<AggregatorConfig> loaded = co_await upkeep_->run(std::move(load));
  if (!loaded.ok()) co_return loaded.error();
  std::vector<std::string> restart = needs_restart(config_, *loaded);
  take_settings(std::move(*loaded));
  co_return restart;
}

void App::take_settings(AggregatorConfig config) {
  StorageLimits limits;
  limits.min_free_bytes = config.store.min_free;
  limits.max_part_bytes = config.store.part_bytes;
  limits.max_part_age = config.store.part_age;
  limits.retention = config.retention;
  storage_->set_limits(limits);
  queries_->set_limits(config.query.deadline, config.query.max_concurrent, config.query.memory);
  set_log_threshold(config.log_level);
  config_.tokens = config.tokens;
  api_->set_tokens(config.tokens);
  hub_->check_tokens();
  config_.query = config.query;
  config_.store = config.store;
  config_.retention = config.retention;
  config_.log_level = config.log_level;
}

asio::awaitable<void> App::keep_clocks() {
  std::vector<HostClock> readings = hub_->agents().take_clocks();
  if (readings.empty()) co_return;
  auto store = [storage = storage_.get(), readings](BlockingToken& token) {
    return storage->add_clock_readings(token, readings);
  };
  const Status stored = co_await upkeep_->run(std::move(store));
  if (!stored.ok()) hub_->agents().give_back_clocks(std::move(readings));
}

asio::awaitable<Status> App::serve() {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await server_->run();
  stop();
  tasks_->request_stop();  // signals and upkeep
  co_return Status();
}

void App::stop() {
  if (stopping_) return;
  stopping_ = true;
  if (reload_signals_ != nullptr) reload_signals_->stop();
  api_->set_ready(false);
  server_->stop(kStopGrace);
}

asio::awaitable<Status> App::maintain() {
  co_await asio::this_coro::throw_if_cancelled(false);
  RateLimit limit;
  while (!stopping_) {
    SqliteStorage* storage = storage_.get();
    auto turn = [storage](BlockingToken& token) { return storage->maintain(token); };
    auto more = co_await upkeep_->run(turn);
    std::uint64_t held = 0;
    if (!more.ok() && limit.allow(clock_.now(), held)) {
      LGR_WARN("upkeep failed error={} held_back={}", more.error().message(), held);
    }
    co_await keep_clocks();
    queries_->park_stalled();
    give_back_memory();
    if (more.ok() && *more) continue;
    co_await clock_.sleep_for(kUpkeepEvery);
  }
  co_return Status();
}

// What queries held stays with the allocator otherwise, and the process as large as at its peak.
void App::give_back_memory() {
  const std::uint64_t done = queries_->total() + queries_->parked();
  if (done == trimmed_at_ || clock_.now() < next_trim_) return;
  trimmed_at_ = done;
  next_trim_ = clock_.now() + kTrimEvery;
  upkeep_->post([](BlockingToken&) {
    ::malloc_trim(0);
    return Status();
  });
}

void App::write_metrics(std::string& out) const {
  commit_seconds_.write(out, "logarithm_aggregator_commit_seconds");
  freshness_seconds_.write(out, "logarithm_aggregator_freshness_seconds");
  const auto number = [&](std::string_view name, std::string_view type, std::uint64_t value) {
    const std::string full = "logarithm_aggregator_" + std::string(name);
    out += "# TYPE " + full + " " + std::string(type) + "\n" + full + " " + std::to_string(value) +
           "\n";
  };
  const WriterPool::Stats writers = writers_->stats();
  number("write_queue_bytes", "gauge", writers.queued_bytes);
  number("commits_total", "counter", writers.commits);
  number("commits_failed_total", "counter", writers.failed);
  number("overloaded_total", "counter", writers.overloaded);
  const IngestStats& ingest = hub_->stats();
  number("sessions", "gauge", ingest.sessions);
  number("frames_total", "counter", ingest.frames);
  number("unknown_frames_total", "counter", ingest.unknown_frames);
  number("protocol_errors_total", "counter", ingest.protocol_errors);
  number("refused_blocks_total", "counter", ingest.refused_blocks);
  number("sessions_ended_after_loss_total", "counter", ingest.ended_after_loss);
  const TailStats& tails = tails_->stats();
  number("tails", "gauge", tails.open);
  number("tails_refused_total", "counter", tails.refused);
  number("tail_lines_total", "counter", tails.lines);
  number("tail_bytes_total", "counter", tails.bytes);
  number("tail_skipped_lines_total", "counter", tails.skipped);
  number("tail_unreadable_lines_total", "counter", tails.unreadable);
  number("tail_forgotten_holes_total", "counter", tails.forgotten_holes);
  const net::HttpServerStats http = server_->stats();
  number("connections", "gauge", http.open);
  number("connections_refused_total", "counter", http.refused);
  number("http_malformed_total", "counter", http.malformed);
  number("http_abandoned_total", "counter", http.abandoned);
  const StoreCounters& store = storage_->counters();
  number("quarantined_total", "counter", store.quarantined.load());
  number("vanished_shards_total", "counter", store.vanished.load());
  number("no_space_total", "counter", store.no_space.load());
  number("sealed_runs_total", "counter", store.sealed_runs.load());
  number("retired_shards_total", "counter", store.retired.load());
  number("retired_bytes_total", "counter", store.retired_bytes.load());
  const StorageStats storage = storage_->stats();
  number("read_only", "gauge", storage.read_only ? 1 : 0);
  if (storage.free_bytes) number("disk_free_bytes", "gauge", *storage.free_bytes);
  out += reloads_.metrics_text("aggregator");
}

}  // namespace logarithm::aggregator
