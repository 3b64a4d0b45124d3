#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/aggregator_config.h"
#include "aggregator/data_lock.h"
#include "aggregator/http/api.h"
#include "aggregator/http/histogram.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/http/registry_view.h"
#include "aggregator/http/suppressions.h"
#include "aggregator/http/ws_ingest.h"
#include "aggregator/http/ws_tail.h"
#include "aggregator/ingest/ingest_hub.h"
#include "aggregator/settings.h"
#include "aggregator/store/sqlite_storage.h"
#include "aggregator/store/writer_pool.h"
#include "aggregator/tail/tail_hub.h"
#include "common/async/reload_signals.h"
#include "common/async/task_group.h"
#include "common/async/worker_pool.h"
#include "common/base/clock.h"
#include "common/io/service_manager.h"
#include "common/net/http_server.h"

namespace logarithm::aggregator {

// The whole aggregator: builds the object graph, serves until SIGTERM or SIGINT, stops in reverse
// order. One I/O thread (that of run()), and worker threads for whatever blocks.
class App {
 public:
  // Locks the data directory, opens the storage, binds. Blocks; for main().
  // `source` reads the configuration again for SIGHUP.
  static Result<std::unique_ptr<App>> make(AggregatorConfig config, SettingsSource source);
  ~App();

  // Serves until a signal says stop; an Error when that was not the reason.
  Status run();
  // "host:port" that it serves at.
  std::string address() const;

 private:
  App(AggregatorConfig config, SettingsSource source, DataLock lock);
  Status open();

  boost::asio::awaitable<Status> watch_signals();
  boost::asio::awaitable<void> reload();
  boost::asio::awaitable<Result<std::vector<std::string>>> take_configuration();
  void take_settings(AggregatorConfig config);
  boost::asio::awaitable<Status> maintain();
  boost::asio::awaitable<void> keep_clocks();
  boost::asio::awaitable<Status> serve();
  void stop();
  void give_back_memory();
  void write_metrics(std::string& out) const;

  AggregatorConfig config_;
  SettingsSource reload_source_;
  config::ReloadState reloads_;
  DataLock lock_;
  SystemClock clock_;
  ServiceManager service_ = ServiceManager::from_environment();
  boost::asio::io_context io_{1};
  std::unique_ptr<SqliteStorage> storage_;
  std::unique_ptr<SuppressionStore> suppressions_;
  Histogram commit_seconds_, freshness_seconds_;

  // Reset explicitly on the way down: what they run uses the members below.
  std::unique_ptr<WorkerPool> writing_, querying_, upkeep_, tailing_;

  std::unique_ptr<WriterPool> writers_;
  std::unique_ptr<IngestHub> hub_;
  std::unique_ptr<RegistryView> agents_;
  std::unique_ptr<IngestEndpoint> ingest_;
  std::unique_ptr<QueryRunner> queries_;
  std::unique_ptr<TailHub> tails_;
  std::unique_ptr<TailEndpoint> tail_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<ReloadSignals> reload_signals_;
  std::unique_ptr<TaskGroup> tasks_;
  bool stopping_ = false;
  std::uint64_t trimmed_at_ = 0;  // queries done as of the last trim
  MonotonicTime next_trim_{};
};

}  // namespace logarithm::aggregator
