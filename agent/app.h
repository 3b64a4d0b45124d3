#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/collector.h"
#include "agent/heartbeat_relay.h"
#include "agent/metrics.h"
#include "agent/settings.h"
#include "agent/uplink/ws_transport.h"
#include "common/async/reload_signals.h"
#include "common/async/task_group.h"
#include "common/config/reload_state.h"
#include "common/io/posix_file_system.h"
#include "common/io/service_manager.h"
#include "common/net/http_server.h"

namespace logarithm::agent {

// The agent: builds the parts, starts and stops them in order. One io thread (the caller of run())
// and one file thread.
class App {
 public:
  // `source` reads the configuration again for SIGHUP; empty: there is nothing to read.
  static Result<std::unique_ptr<App>> make(Settings settings, SettingsSource source);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // Until SIGTERM or SIGINT; with `once` until everything is stored. Error when it is not.
  Status run();

 private:
  App(Settings settings, SettingsSource source);
  Status open();
  void open_kernel_log();
  void open_metrics();

  boost::asio::awaitable<Status> watch_signals();
  boost::asio::awaitable<void> reload();
  boost::asio::awaitable<Result<std::vector<std::string>>> take_configuration();
  void take_settings(Settings settings);
  void tell_reload();
  boost::asio::awaitable<Status> ship();
  boost::asio::awaitable<Status> serve_metrics();
  // Ends a pause when a file was created beside a followed one: see Follower::wake_fd().
  boost::asio::awaitable<Status> watch_names();
  // The main line: collect, then the last reading, then the last sending.
  boost::asio::awaitable<Status> live();
  boost::asio::awaitable<bool> collect();  // `once`: true when everything was read
  boost::asio::awaitable<bool> drained();
  boost::asio::awaitable<bool> deliver(MonotonicTime deadline, bool reset_by_progress);
  boost::asio::awaitable<void> pause(std::chrono::milliseconds time);
  boost::asio::awaitable<Status> watchdog();
  void print_summary() const;

  AgentConfig config_;
  std::shared_ptr<const RuleSet> rules_;
  SettingsSource reload_source_;
  config::ReloadState reloads_;
  SystemClock clock_;
  ServiceManager service_ = ServiceManager::from_environment();
  boost::asio::io_context io_;
  PosixFileSystem files_;
  PosixSourceFs source_fs_;
  std::unique_ptr<WorkerPool> file_thread_;
  std::unique_ptr<WorkerPool> reload_thread_;  // made by the first reload
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<WsTransport> transport_;
  std::unique_ptr<Discovery> discovery_;
  HeartbeatRelay heartbeats_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<KmsgSource> kernel_source_;
  std::unique_ptr<KernelLog> kernel_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<MetricsHandler> metrics_handler_;
  std::unique_ptr<net::HttpServer> metrics_server_;
  std::unique_ptr<ReloadSignals> reload_signals_;
  std::unique_ptr<TaskGroup> tasks_;
  boost::asio::steady_timer pause_;
  bool woken_ = false;     // watch_names() asks for a turn now
  bool stopping_ = false;  // asked to by a signal
  bool uplink_ended_ = false;
  bool all_stored_ = false;
  Status outcome_;
};

}  // namespace logarithm::agent
