#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "aggregator/http/api.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_storage.h"
#include "tests/support/manual_clock.h"

namespace logarithm::aggregator {

using nlohmann::json;

class NoAgents final : public AgentsView {
 public:
  ProgressLookup progress_of(const JobKey&) override {
    return [](const StreamId&) { return std::optional<StreamProgress>(); };
  }
  std::size_t connected() const override { return 0; }
  void write_agents(JsonWriter& out, const std::string&) override { out.begin_array().end_array(); }
};

class NoIngest final : public WebSocketEndpoint {
 public:
  boost::asio::awaitable<void> serve(std::shared_ptr<net::WsConnection>) override { co_return; }
};

struct ApiAnswer {
  int status = 0;
  std::string type, body;
  net::Headers headers;
  json parsed() const { return json::parse(body); }
};

inline boost::asio::awaitable<void> ask(net::HttpHandler& handler, net::Request request,
                                        ApiAnswer& out) {
  auto asked = handler.handle(std::move(request));
  net::Response response = co_await std::move(asked);
  out.status = response.status;
  out.type = response.content_type;
  out.body = response.body;
  out.headers = response.headers;
  while (response.stream) {
    auto next = response.stream->next();
    auto piece = co_await std::move(next);
    if (!piece.ok() || !*piece) break;
    out.body += **piece;
  }
}

// A job "a/b" in memory behind the REST interface.
struct ApiFixture {
  test::FakeStorage storage;
  SystemClock clock;
  NoAgents agents;
  NoIngest ingest;
  WorkerPool pool{1};
  QueryOptions options;
  std::vector<TokenGrant> tokens;
  std::shared_ptr<test::FakeJob> job = storage.add("a/b");
  StreamId stream{StreamBase{1, 2}, 0};

  ApiFixture() {
    StreamAttributes attributes;
    attributes.job = "a/b";
    attributes.name = "stdout";
    attributes.host = "n1";
    attributes.rank = 2;
    attributes.rank_source = "RANK";
    job->add_stream(stream, {attributes});
    std::vector<Line> lines;
    for (int i = 0; i < 25; ++i) {
      const std::uint64_t offset = lines.empty() ? 0 : lines.back().end();
      lines.push_back(test::make_line(offset, 1000 + i / 3, "line " + std::to_string(i)));
      lines.back().iteration = i;
    }
    lines[3].raw = "bad \xFF\x01 \"text\"";
    lines[3].meta = {{"loss", std::numeric_limits<double>::quiet_NaN(), false},
                     {"big", std::int64_t{1} << 60, false},
                     {"big", 0.5, false}};
    lines[3].length = lines[3].raw.size() + 1;
    std::uint64_t at = 0;
    for (Line& line : lines) {
      line.offset = line.head = at;
      at = line.end();
      line.template_id = template_of(body_of(line));
    }
    job->add_block(0, 0, lines);
    job->facts()[0].closed = wire::Closed{stream, "a/b", at, "exited"};
  }

  ApiAnswer get(std::string path, std::vector<std::pair<std::string, std::string>> query = {},
                net::Headers headers = {}) {
    net::Request request;
    request.method = "GET";
    request.path = std::move(path);
    request.query = std::move(query);
    request.headers = std::move(headers);
    return call(std::move(request));
  }
  ApiAnswer call(net::Request request) {
    QueryRunner queries(pool, clock, options);
    Api api(storage, queries, agents, ingest, tokens);
    ApiAnswer out;
    boost::asio::io_context io;
    std::exception_ptr failure;
    auto keep = boost::asio::make_work_guard(io);
    boost::asio::co_spawn(io, ask(api, std::move(request), out), [&](std::exception_ptr thrown) {
      failure = thrown;
      keep.reset();
    });
    io.run();
    if (failure) std::rethrow_exception(failure);
    return out;
  }
};

}  // namespace logarithm::aggregator
