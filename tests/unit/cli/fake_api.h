#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/net/http_server.h"
#include "tests/unit/cli/captured_run.h"

namespace logarithm::cli {

namespace asio = boost::asio;

class Pieces final : public net::BodyStream {
 public:
  explicit Pieces(Words pieces) : pieces_(std::move(pieces)) {}
  asio::awaitable<Result<std::optional<std::string>>> next() override {
    if (at_ == pieces_.size()) co_return std::optional<std::string>();
    co_return std::optional<std::string>(pieces_[at_++]);
  }
  void abandoned() override {}

 private:
  Words pieces_;
  std::size_t at_ = 0;
};

inline constexpr const char* kVerdict =
    R"({"ranks":"0-7","consensus":{"groups":[{"group":"00ff","text":"step <*>","lines":9,"ranks":"0-7","missing":""}],)"
    R"("iterations":[{"iterations":"0..8","count":9,"peers":"0-7","groups":["00ff"]}]},)"
    R"("first_divergence":{"iteration":17,"rank":5},"departures":[{"rank":6,"iteration":30,"kind":"value",)"
    R"("text":"step 30 loss 2.5","score":0.95,"count":10,"last_iteration":39,"key":"loss","value":2.5,"expected":2.4},)"
    R"({"rank":5,"iteration":17,"kind":"extra","text":"retry","score":0.9,"count":1,"last_iteration":17}],"other":3,)"
    R"("completeness":{"complete":true,"reasons":[]}})";
inline constexpr const char* kPair =
    R"({"ranks":"0,3","first_divergence":null,"departures":[],"other":0,"rows":[{"kind":"same","count":12},)"
    R"({"iteration":3,"kind":"right","right":{"text":"only there"}}],"completeness":{"complete":true,"reasons":[]}})";

// Stands for an aggregator: three lines in two pages, one stream.
class FakeApi final : public net::HttpHandler {
 public:
  asio::awaitable<net::Response> handle(net::Request request) override {
    last = request;
    net::Response response;
    if (request.path == "/api/v1/jobs") {
      response.body =
          R"({"jobs":[{"job":"run7","state":"ended","attempts":[0,1],"ranks":"0-3","hosts":["n1"],)"
          R"("lines":12,"bytes":"2048","last_iteration":70,"errors":1,"last_time":"2026-11-30T04:33:29.1Z",)"
          R"("freshness":{"age_seconds":5.0,"streams":2,"lagging":1,"pending":"1024"}}]})";
    } else if (request.path == "/api/v1/jobs/run7/lines") {
      lines(request, response);
    } else if (request.path == "/api/v1/context") {
      response.body = R"({"lines":[{"id":"a.0:0","time":"t","text":"one"}],"next":null})";
    } else if (request.path == "/api/v1/jobs/run7/streams") {
      response.body =
          R"({"streams":[{"id":"a.0","generation":0,"rank":1,"name":"stdout","end":"6","gaps":[]}]})";
    } else if (request.path == "/api/v1/jobs/run7/telemetry/series") {
      response.body =
          R"({"step":1,"points":1,"series":[{"metric":"loss","rank":1,"count":1,"nan":0,"buckets":)"
          R"([{"iteration":60,"count":1,"nan":0,"min":0.5,"max":0.5,"mean":0.5,"last":0.5}]}],)"
          R"("completeness":{"complete":false,"reasons":["2 bytes pending"]}})";
    } else if (request.path == "/api/v1/jobs/run7/callsites") {
      response.body =
          R"({"callsites":[{"callsite":"train.py:88","lines":10,"bytes":"2048","share":0.5,"ranks":"0-2",)"
          R"("missing":"3","first_iteration":1,"last_iteration":9,"by_rank":[{"rank":0,"lines":10,"bytes":"2048"}]},)"
          R"({"template":"00ff","text":"step <*>","lines":3,"bytes":"5","share":0.1,"ranks":"0-3","missing":""}],)"
          R"("other":{"callsites":1,"lines":2,"bytes":"3"},"completeness":{"complete":true,"reasons":[]}})";
    } else if (request.path == "/api/v1/jobs/run7/triage") {
      response.body =
          R"({"job":"run7","attempt":1,"verdict":"failed","kind":"exception","phase":"training",)"
          R"("first":{"ranks":[2],"host":"n1","iteration":70,"time":"T","certain":true,)"
          R"("margin_ms":12.4,"error_ms":3.0},"cascade":{"ranks":"0-1,3","count":3},"silent":[],)"
          R"("stragglers":[{"rank":3,"late_ms":5}],"hardware":[{"kind":"xid","time":"T","code":79}],)"
          R"("not_captured":[],"evidence":[{"claim":"rank 2 named a cause","class":"root",)"
          R"("confidence":0.95,"rank":2,"lines":["ab.0:7"],"text":"ValueError: x\u001b"}],)"
          R"("summary":"Rank 2 broke.","completeness":{"complete":false,"reasons":["2 bytes pending"]}})";
    } else if (request.path == "/api/v1/jobs/run7/compare") {
      response.body = request.param("ranks") ? kPair : kVerdict;
    } else if (request.path == "/api/v1/jobs/run7/correlate") {
      response.body =
          R"({"by":"rank","pairs":[{"rank":5,"iterations":1,"seconds":0.5,"first":{"iteration":17,"text":"a"},)"
          R"("then":{"iteration":18,"text":"b"}}],"count":1,"firsts":2,"thens":3,)"
          R"("completeness":{"complete":true,"reasons":[]}})";
    } else if (request.path == "/api/v1/jobs/run7/suppressions") {
      response.body = R"({"suppressions":[{"name":"quiet","scope":"job","callsites":["a.py:1"]}]})";
    } else if (request.path == "/api/v1/jobs/run7/raw") {
      const auto from = request.param("from").value_or("0");
      response.headers.emplace_back("X-Logarithm-Gaps", std::to_string(gaps));
      const std::string bytes = std::string("ab\n\0\xff\n", 6);
      response.stream =
          std::make_shared<Pieces>(Words{bytes.substr(std::stoul(std::string(from)))});
    } else if (request.path == "/api/v1/jobs/401/lines" ||
               request.path == "/api/v1/jobs/403/lines" ||
               request.path == "/api/v1/jobs/400/lines") {
      response.status = std::stoi(request.path.substr(13, 3));
      response.content_type = "application/problem+json";
      response.body = R"({"detail":"no"})";
    } else {
      response.status = 404;
      response.content_type = "application/problem+json";
      response.body = R"({"status":404,"detail":"no such job: run8"})";
    }
    co_return response;
  }
  std::optional<net::Response> check_websocket(const net::Request& request) override {
    if (request.path == "/api/v1/tail") return std::nullopt;
    net::Response no;
    no.status = 404;
    return no;
  }
  // Two lines a message, for ever.
  asio::awaitable<void> websocket(net::Request request,
                                  std::shared_ptr<net::WsConnection> connection) override {
    last = std::move(request);
    for (int i = 0;; ++i) {
      std::string text = R"({"lines":[{"id":"a.0:0","time":"t","text":"one"},)"
                         R"({"id":"a.0:4","time":"t","text":"two"}],"live":true,"cursor":"c)" +
                         std::to_string(i) + R"("})";
      const Status sent = co_await connection->send_text(std::move(text));
      if (!sent.ok()) co_return;
    }
  }

  net::Request last;
  int gaps = 0;

 private:
  static void lines(const net::Request& request, net::Response& response) {
    if (!request.param("cursor")) {
      response.stream = std::make_shared<Pieces>(Words{
          "{\"id\":\"a.0:0\",\"time\":\"t\",\"text\":\"one\"}\n{\"id\":\"a.0:4\",",
          "\"time\":\"t\",\"text\":\"two\"}\n",
          "{\"end\":{\"next\":\"c1\",\"completeness\":{\"complete\":true,\"reasons\":[]}}}\n"});
    } else {
      response.stream = std::make_shared<Pieces>(
          Words{"{\"id\":\"a.0:8\",\"time\":\"t\",\"text\":\"three\"}\n",
                "{\"end\":{\"next\":null,\"completeness\":{\"complete\":true,\"reasons\":[]}}}\n"});
    }
  }
};

// A server on a thread of its own: the command line blocks the test's.
class Server {
 public:
  Server() {
    server_ = std::move(net::HttpServer::listen(io_, net::HttpServerOptions(), api).value());
    auto ended = [](const std::exception_ptr&) {};
    asio::co_spawn(io_, server_->run(), ended);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Server() {
    asio::post(io_, [this] { server_->stop(std::chrono::milliseconds(0)); });
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  Outcome run(Words words) const {
    words.insert(words.begin(), {"--server", url()});
    return cli::run(std::move(words));
  }

  FakeApi api;

 private:
  asio::io_context io_;
  std::unique_ptr<net::HttpServer> server_;
  std::thread thread_;
};

}  // namespace logarithm::cli
