#include "cli/command_line.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "common/net/http_server.h"
#include "tests/support/temp_dir.h"

namespace logarithm::cli {
namespace {

namespace asio = boost::asio;
using Words = std::vector<std::string>;

std::string read_file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Puts stdout and stderr of this process into files while it lives.
class Capture {
 public:
  explicit Capture(const test::TempDir& dir) : out_(dir.file("stdout")), err_(dir.file("stderr")) {
    flush();
    saved_[0] = redirect(STDOUT_FILENO, out_);
    saved_[1] = redirect(STDERR_FILENO, err_);
  }
  ~Capture() { restore(); }
  std::string out() {
    restore();
    return read_file(out_);
  }
  std::string err() {
    restore();
    return read_file(err_);
  }

 private:
  static void flush() {
    std::fflush(stdout);
    std::fflush(stderr);
  }
  static int redirect(int fd, const std::string& file) {
    const int saved = ::dup(fd);
    const int target = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(target, fd);
    ::close(target);
    return saved;
  }
  void restore() {
    if (saved_[0] < 0) return;
    flush();
    ::dup2(saved_[0], STDOUT_FILENO);
    ::dup2(saved_[1], STDERR_FILENO);
    ::close(saved_[0]);
    ::close(saved_[1]);
    saved_[0] = saved_[1] = -1;
  }

  std::string out_, err_;
  int saved_[2] = {-1, -1};
};

struct Outcome {
  int status = -1;
  std::string out, err;
};

Outcome run(Words words) {
  test::TempDir dir;
  Capture capture(dir);
  Outcome outcome;
  outcome.status = run_command_line(std::move(words), Options());
  outcome.out = capture.out();
  outcome.err = capture.err();
  return outcome;
}

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

constexpr const char* kVerdict =
    R"({"ranks":"0-7","consensus":{"groups":[{"group":"00ff","text":"step <*>","lines":9,"ranks":"0-7","missing":""}],)"
    R"("iterations":[{"iterations":"0..8","count":9,"peers":"0-7","groups":["00ff"]}]},)"
    R"("first_divergence":{"iteration":17,"rank":5},"departures":[{"rank":6,"iteration":30,"kind":"value",)"
    R"("text":"step 30 loss 2.5","score":0.95,"count":10,"last_iteration":39,"key":"loss","value":2.5,"expected":2.4},)"
    R"({"rank":5,"iteration":17,"kind":"extra","text":"retry","score":0.9,"count":1,"last_iteration":17}],"other":3,)"
    R"("completeness":{"complete":true,"reasons":[]}})";
constexpr const char* kPair =
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

}  // namespace

TEST_CASE("command line: usage errors exit 64 and say what is wrong") {
  for (const Words& words :
       std::vector<Words>{{},
                          {"nonsense"},
                          {"query"},
                          {"query", "j", "--limit", "0"},
                          {"query", "j", "--direction", "up"},
                          {"query", "j", "--since", "soon"},
                          {"query", "j", "--unknown"},
                          {"series", "j"},
                          {"series", "j", "loss", "--buckets", "0"},
                          {"series", "j", "loss", "--plot", "--output", "json"},
                          {"callsites"},
                          {"callsites", "j", "--limit", "0"},
                          {"triage"},
                          {"triage", "j", "--attempt", "-1"},
                          {"triage", "--watch", "--files", "/"},
                          {"compare"},
                          {"compare", "j", "--all", "--ranks", "0,3"},
                          {"compare", "j", "--context", "-1"},
                          {"correlate", "j", "--first", "x"},
                          {"hide"},
                          {"hide", "j", "--noise"},
                          {"hide", "j", "name"},
                          {"hide", "j", "name", "--noise", "--delete"},
                          {"export", "j", "--output", "raw", "--hide", "x"},
                          {"--output", "xml", "jobs"},
                          {"--server", "h:1", "jobs"},
                          {"--server", "https://h", "jobs"},
                          {"context"},
                          {"import", "/"},
                          {"import", "--job", "j", "/nonexistent"},
                          {"query", "--files", "/nonexistent"},
                          {"export", "j", "--output", "raw", "--grep", "x"},
                          {"export", "j", "--output", "raw", "--rank", "x"},
                          {"export", "j", "--output", "json"},
                          // Nothing that is asked for is passed over.
                          {"export", "j", "--output", "text"},
                          {"export", "j", "--limit", "0"},
                          {"export", "j", "--direction", "up"},
                          {"export", "j", "--output", "raw", "--limit", "5"},
                          {"export", "j", "--output", "raw", "--direction", "forward"},
                          {"export", "j", "--output", "raw", "--cursor", "c"},
                          {"export", "j", "--to", "/nonexistent", "--limit", "5"},
                          {"export", "j", "--to", "/nonexistent", "--output", "ndjson"},
                          {"tail", "j", "--limit", "0"},
                          {"tail", "j", "--direction", "backward"},
                          {"tail", "j", "--limit", "5", "--output", "json"},
                          {"tail", "j", "--ids", "--output", "raw"},
                          {"query", "j", "--ids", "--output", "raw"},
                          {"context", "a.0:0", "--ids", "--output", "raw"},
                          {"callsites", "j", "--by-rank", "--output", "raw"},
                          {"compare", "j", "--consensus", "--output", "ndjson"},
                          {"compare", "j", "--consensus", "--output", "raw"},
                          {"compare", "j", "--consensus", "--first-only"},
                          {"series", "j", "loss", "--step", "5", "--buckets", "9"},
                          {"hide", "j", "name", "--noise", "--output", "json"}}) {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    CAPTURE(line);
    const Outcome outcome = run(words);
    CHECK(outcome.status == kExitUsage);
    CHECK_FALSE(outcome.err.empty());
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("command line: an output that the configuration states for all verbs stops none") {
  test::TempDir dir;
  std::ofstream(dir.file("c.yaml")) << "output: json\n";
  Server server;
  const auto with_file = [&](Words words) {
    words.insert(words.begin(), {"--config", dir.file("c.yaml")});
    return server.run(std::move(words));
  };
  CHECK(with_file({"jobs"}).out.starts_with("{\"jobs\":"));
  const Outcome lines = with_file({"export", "run7"});
  CHECK(lines.status == kExitOk);
  CHECK(std::count(lines.out.begin(), lines.out.end(), '\n') == 3);
  CHECK(with_file({"series", "run7", "loss", "--plot"}).out.find("└──") != std::string::npos);
  CHECK(with_file({"hide", "run7", "quiet", "--delete"}).status == kExitOk);
}

TEST_CASE("command line: a misspelt verb or option is named, with what was probably meant") {
  CHECK(run({"traige", "sample"}).err ==
        "logarithm: no such verb: traige (did you mean triage?)\n");
  CHECK(run({"query", "j", "--sevrity", "error"}).err ==
        "logarithm: no such option of query: --sevrity (did you mean --severity?)\n");
  CHECK(run({"jobs", "one", "two"}).err == "logarithm: unexpected argument: two\n");
}

TEST_CASE("command line: --help and --version exit 0 and name only verbs that work") {
  const Outcome help = run({"--help"});
  CHECK(help.status == kExitOk);
  for (const char* verb : {"jobs", "query", "context", "import", "export", "series", "callsites",
                           "triage", "compare", "correlate", "hide"}) {
    CHECK(help.out.find(verb) != std::string::npos);
  }
  CHECK(run({"query", "--help"}).out.find("--not-callsite") != std::string::npos);
  CHECK(run({"--version"}).out == "logarithm " LGR_VERSION "\n");
}

TEST_CASE("command line: a broken configuration exits 78, a good one is shown") {
  test::TempDir dir;
  std::ofstream(dir.file("bad.yaml")) << "server: nowhere\n";
  std::ofstream(dir.file("good.yaml")) << "server: http://h:1\n";

  const Outcome bad = run({"--config", dir.file("bad.yaml"), "--check-config"});
  CHECK(bad.status == kExitConfig);
  CHECK(bad.err.find("bad.yaml:1: server: ") != std::string::npos);
  CHECK(run({"--config", dir.file("none.yaml"), "jobs"}).status == kExitConfig);
  const Outcome good = run({"--config", dir.file("good.yaml"), "--check-config"});
  CHECK(good.status == kExitOk);
  CHECK(good.out.find("server: \"http://h:1\"") != std::string::npos);
  const Outcome flag =
      run({"--config", dir.file("good.yaml"), "--server", "http://flag:2", "--check-config"});
  CHECK(flag.out.find("server: \"http://flag:2\"") != std::string::npos);
}

TEST_CASE("command line: a server that is not there exits 1 and names it") {
  const Outcome outcome = run({"--server", "http://127.0.0.1:1", "jobs"});
  CHECK(outcome.status == kExitFailure);
  CHECK(outcome.err.find("127.0.0.1:1") != std::string::npos);
  CHECK(outcome.err.find("LOGARITHM_SERVER") != std::string::npos);
}

TEST_CASE("jobs: a table, or what the server answered") {
  Server server;
  const Outcome text = server.run({"jobs"});
  CHECK(text.status == kExitOk);
  CHECK(text.out.find("run7  ended  0,1") != std::string::npos);
  CHECK(text.out.find("2.0 KiB") != std::string::npos);
  CHECK(text.out.find("2026-11-30T04:33:29  1.0 KiB behind") != std::string::npos);
  CHECK(server.run({"jobs", "--output", "json"}).out.starts_with("{\"jobs\":[{\"job\":\"run7\""));
  CHECK(server.run({"jobs", "--output", "raw"}).out == "run7\n");
}

TEST_CASE("query: the newest lines in order of time, and a word about the rest") {
  Server server;
  const Outcome text = server.run(
      {"query", "run7", "{rank=\"1\"}", "--limit", "2", "--grep", "[a,b]", "--grep", "c"});
  CHECK(text.status == kExitOk);
  CHECK(text.out == "t two\nt one\n");  // the fake sends them in this order
  CHECK(text.err.find("there are more") != std::string::npos);
  CHECK(server.api.last.param("direction") == "backward");
  CHECK(server.api.last.param("query") == "{rank=\"1\"}");
  CHECK(server.api.last.param("limit") == "2");
  CHECK(server.api.last.param("grep") == "[a,b]");
  CHECK(server.run({"query", "run7", "--direction", "forward", "--output", "raw"}).out ==
        "one\ntwo\n");
}

TEST_CASE("query: the server's refusal exits 1 with its detail") {
  Server server;
  const Outcome outcome = server.run({"query", "run8"});
  CHECK(outcome.status == kExitFailure);
  CHECK(outcome.err.find("no such job: run8") != std::string::npos);
  CHECK(outcome.out.empty());
}

TEST_CASE("query: a refused token exits 1, a refused question 64") {
  Server server;
  CHECK(server.run({"query", "401"}).status == kExitFailure);
  CHECK(server.run({"query", "403"}).status == kExitFailure);
  CHECK(server.run({"query", "400"}).status == kExitUsage);
}

TEST_CASE("context: marks the line that was asked for") {
  Server server;
  const Outcome outcome = server.run({"context", "a.0:0", "-B", "2", "-A", "3", "--all-ranks"});
  CHECK(outcome.out == "> t one\n");
  CHECK(server.api.last.param("before") == "2");
  CHECK(server.api.last.param("after") == "3");
  CHECK(server.api.last.param("all_ranks") == "true");
}

TEST_CASE("export: all pages, and from a cursor the rest") {
  Server server;
  const Outcome all = server.run({"export", "run7"});
  CHECK(all.status == kExitOk);
  CHECK(std::count(all.out.begin(), all.out.end(), '\n') == 3);
  CHECK(all.out.find("\"end\"") == std::string::npos);
  const Outcome rest = server.run({"export", "run7", "--cursor", "c1"});
  CHECK(std::count(rest.out.begin(), rest.out.end(), '\n') == 1);
}

TEST_CASE("export: a limit ends it, over pages, and says how to go on") {
  Server server;
  const Outcome two = server.run({"export", "run7", "--limit", "2"});
  CHECK(two.status == kExitOk);
  CHECK(std::count(two.out.begin(), two.out.end(), '\n') == 2);
  CHECK(two.err == "logarithm: the limit of 2 lines reached, there are more: --cursor c1\n");
  CHECK(server.api.last.param("limit") == "2");
  CHECK(server.api.last.param("direction") == "forward");
  const Outcome three = server.run({"export", "run7", "--limit", "3"});
  CHECK(std::count(three.out.begin(), three.out.end(), '\n') == 3);
  CHECK(server.api.last.param("limit") == "1");
  CHECK(three.err.empty());
  const Outcome newest = server.run({"export", "run7", "--limit", "2", "--direction", "backward"});
  CHECK(server.api.last.param("direction") == "backward");
  CHECK(newest.err.find("--direction backward --cursor c1\n") != std::string::npos);
}

TEST_CASE("tail: a limit ends it, in the middle of a message too") {
  Server server;
  for (const auto& [limit, out] :
       {std::pair("3", "one\ntwo\none\n"), std::pair("2", "one\ntwo\n"), std::pair("1", "one\n")}) {
    const Outcome outcome =
        server.run({"tail", "run7", "--limit", limit, "--output", "raw", "--direction", "forward"});
    CHECK(outcome.status == kExitOk);
    CHECK(outcome.out == out);
    CHECK(outcome.err.empty());
  }
  CHECK(server.run({"tail", "run7", "--limit", "1", "--ids"}).out.find("a.0:0") !=
        std::string::npos);
  CHECK(server.api.last.param("job") == "run7");
  CHECK(!server.api.last.param("limit"));
}

TEST_CASE("export --output raw: exact bytes on stdout and in files; a gap exits 1") {
  Server server;
  const std::string bytes("ab\n\0\xff\n", 6);
  const Outcome whole = server.run({"export", "run7", "--rank", "1", "--output", "raw"});
  CHECK(whole.status == kExitOk);
  CHECK(whole.out == bytes);

  test::TempDir dir;
  const std::string file = dir.file("to/rank-1/stdout.log");
  const Words to_files{"export", "run7", "--output", "raw", "--to", dir.file("to")};
  CHECK(server.run(to_files).status == kExitOk);
  CHECK(read_file(file) == bytes);

  std::filesystem::remove(file);
  std::ofstream(file + ".part", std::ios::binary) << "ab\n";
  CHECK(server.run(to_files).status == kExitOk);
  CHECK(server.api.last.param("from") == "3");
  CHECK(read_file(file) == bytes);

  server.api.gaps = 1;
  const Outcome gap = server.run({"export", "run7", "--output", "raw"});
  CHECK(gap.status == kExitFailure);
  CHECK(gap.err.find("1 of 1 streams are not whole") != std::string::npos);
  CHECK(server.run({"export", "run7", "--rank", "5", "--output", "raw"}).status == kExitFailure);
}

TEST_CASE("series: a table, a plot, or what the server answered, and a word when incomplete") {
  Server server;
  const Outcome text = server.run({"series", "run7", "loss", "--rank", "1", "--iteration", "5.."});
  CHECK(text.status == kExitOk);
  CHECK(text.out.find("    1         60       1    0  0.5   0.5  0.5   0.5\n") !=
        std::string::npos);
  CHECK(text.err.find("2 bytes pending") != std::string::npos);
  CHECK(server.api.last.param("metric") == "loss");
  CHECK(server.api.last.param("rank") == "1");
  CHECK(server.api.last.param("buckets") == "20");
  const Outcome json = server.run({"series", "run7", "loss", "{rank=\"1\"}", "--output", "json"});
  CHECK(json.out.starts_with("{\"step\":1,\"points\":1"));
  CHECK(!server.api.last.param("buckets"));
  CHECK(server.api.last.param("query") == "{rank=\"1\"}");
  const Outcome plot = server.run({"series", "run7", "loss", "--plot", "--step", "5"});
  CHECK(plot.out.find("└──") != std::string::npos);
  CHECK(server.api.last.param("buckets") == "160");
  CHECK(server.api.last.param("step") == "5");
}

TEST_CASE("callsites: who prints how much, and how many more there are") {
  Server server;
  const Outcome text = server.run({"callsites", "run7", "--severity", "error"});
  CHECK(text.status == kExitOk);
  CHECK(text.out.find("2.0 KiB  50.0%  3 of 4; not 3") != std::string::npos);
  CHECK(text.out.find("00ff  step <*>") != std::string::npos);
  CHECK(text.err.find("1 more, 2 lines, 3 B") != std::string::npos);
  CHECK(server.api.last.param("severity") == "error");
  CHECK(server.run({"callsites", "run7", "--output", "raw"}).out ==
        "train.py:88\n00ff  step <*>\n");
  CHECK(server.run({"callsites", "run7", "--by-rank"}).out.find("   10  2.0 KiB     0") !=
        std::string::npos);
}

TEST_CASE("triage: the sentence, what it rests on, and the line to look at") {
  Server server;
  const Outcome text = server.run({"triage", "run7", "--attempt", "1"});
  CHECK(text.status == kExitOk);
  CHECK(server.api.last.param("attempt") == "1");
  for (const char* part :
       {"job run7, attempt 1: failed, exception\nRank 2 broke.\n", "rank 2 on n1, iteration 70",
        "certain: 12.4 ms before the next one, times known to ± 3 ms", "3 ranks: 0-1,3",
        "rank 3, 5 ms late", "xid T code 79",
        "root (0.95): rank 2 named a cause\n    ValueError: x",
        // Where it was asked: the line is to be found by what is printed.
        "logarithm --server http://127.0.0.1:", " context ab.0:7"}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  CHECK(text.out.find('\x1b') == std::string::npos);
  CHECK(text.err.find("2 bytes pending") != std::string::npos);
  CHECK(server.run({"triage", "run7", "--output", "raw"}).out == "Rank 2 broke.\n");
}

TEST_CASE("compare: departures as a table, two ranks side by side, the verdict on stderr") {
  Server server;
  const Outcome verdict = server.run({"compare", "run7", "--peers", "0-3;4-7"});
  CHECK(verdict.status == kExitOk);
  CHECK(verdict.out.find("6  30-39 (10)  value  loss 2.5, peers 2.4  step 30 loss 2.5") !=
        std::string::npos);
  CHECK(verdict.out.find("5  17          extra  retry") != std::string::npos);
  CHECK(
      verdict.err ==
      "logarithm: ranks 0-7: rank 6, at iteration 30, departs most; the first departure is rank 5, "
      "at iteration 17; 3 more not shown\n");
  CHECK(server.api.last.param("peers") == "0-3;4-7");
  CHECK(server.run({"compare", "run7", "--consensus"}).out.find("step <*>") != std::string::npos);
  const Outcome pair = server.run({"compare", "run7", "--ranks", "0,3"});
  CHECK(pair.out.find("... 12 rows the same\n") != std::string::npos);
  CHECK(pair.out.find("> only there\n") != std::string::npos);
  CHECK(pair.err == "logarithm: ranks 0,3: no departures\n");
  CHECK(server.run({"compare", "run7", "--output", "raw"}).out ==
        "30\tvalue\t6\tstep 30 loss 2.5\n17\textra\t5\tretry\n");
  server.run({"compare", "run7", "--against-attempt", "1", "--against-job", "j2", "--first-only"});
  CHECK(server.api.last.param("against_attempt") == "1");
  CHECK(server.api.last.param("against_job") == "j2");
  CHECK(server.api.last.param("first") == "true");
}

TEST_CASE("correlate: pairs with their distance") {
  Server server;
  const Outcome pairs = server.run(
      {"correlate", "run7", "--first", "|= \"a\"", "--then", "| x > 1", "--within", "2i"});
  CHECK(pairs.status == kExitOk);
  CHECK(pairs.out.find("   5         17  1i 0.500s  a      b") != std::string::npos);
  CHECK(pairs.err == "logarithm: 1 pairs of 2 first and 3 second lines\n");
  CHECK(server.api.last.param("first") == "|= \"a\"");
  CHECK(server.api.last.param("within") == "2i");
}

TEST_CASE("hide: saves, shows and forgets lists of what to leave out") {
  Server server;
  CHECK(server.run({"hide", "run7"}).out.find("quiet  job    a.py:1") != std::string::npos);
  CHECK(server.run({"hide", "run7", "quiet", "--callsite", "b.py:2", "--text", "x y"}).status ==
        kExitOk);
  CHECK(server.api.last.method == "PUT");
  CHECK(server.api.last.body == R"({"callsites":["b.py:2"],"name":"quiet","texts":["x y"]})");
  CHECK(server.run({"hide", "run7", "quiet", "--delete"}).status == kExitOk);
  CHECK(server.api.last.method == "DELETE");
  CHECK(server.api.last.param("name") == "quiet");
  CHECK(server.run({"hide", "run7", "quiet", "--noise"}).status == kExitFailure);
  server.run({"hide", "run7", "--all-jobs"});
  CHECK(server.api.last.path == "/api/v1/suppressions");
  server.run({"query", "run7", "--hide", "quiet"});
  CHECK(server.api.last.param("suppress") == "quiet");
}

}  // namespace logarithm::cli
