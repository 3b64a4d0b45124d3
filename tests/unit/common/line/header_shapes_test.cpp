#include <doctest/doctest.h>

#include <string>

#include "tests/unit/common/line/header_shape.h"

// Loggers that nobody configured, and text that only looks like theirs.
namespace logarithm {
namespace {

const HeaderShape kShapes[] = {
    {"I0000 00:00:1772600767.448120   48213 service.cc:152] XLA service", Severity::info,
     "service.cc:152", "XLA service"},
    {"2026-03-04 05:06:07,448 - INFO - __main__ - x", Severity::info, "", "x"},
    {"03/04/2026 05:06:07 - INFO - __main__ - ***** Running training *****", Severity::info, "",
     "***** Running training *****"},
    {"2026-03-04 05:06:07 | INFO | fairseq_cli.train | epoch 001", Severity::info, "", "epoch 001"},
    {"2026-03-04 05:06:07 | INFO | train_inner | epoch 001: 100", Severity::info, "",
     "epoch 001: 100"},
    {"[2026-03-04 05:06:07,448] [INFO] [axolotl.train.train:123] [PID:48213] [RANK:0] msg",
     Severity::info, "axolotl.train.train:123", "msg"},
    {"03/04 05:06:07 - mmengine - INFO - Epoch(train)  [1][ 50/625]", Severity::info, "",
     "Epoch(train)  [1][ 50/625]"},
    {"[03/04 05:06:07 d2.utils.events]:  eta: 1:02:11  iter: 1199", Severity::unset, "",
     " eta: 1:02:11  iter: 1199"},
    {"WARNING [03/04 05:06:07 d2.data.x]: msg", Severity::warning, "", "msg"},
    {"(EngineCore_DP0 pid=48213) ERROR 03-04 05:06:07 [core.py:708]   File \"x.py\"",
     Severity::error, "core.py:708", "  File \"x.py\""},
    {"<stdin>:1: DeprecationWarning: x", Severity::warning, "<stdin>:1", "x"},
    {"2026-03-04T05:06:07.448Z\tINFO\tsetup/main.go:88\tstarting manager\t{\"x\": 1}",
     Severity::info, "setup/main.go:88", "starting manager\t{\"x\": 1}"},
    {"2026-03-04T05:06:07Z INF main.go:12 > msg", Severity::info, "main.go:12", "msg"},
    {"2026/03/04 05:06:07 main.go:12: msg", Severity::unset, "main.go:12", "msg"},
    {"2026/03/04 05:06:07 [error] 1234#5678: *1 open() failed", Severity::error, "",
     "*1 open() failed"},
    {"[Wed Mar 04 05:06:07.448120 2026] [core:error] [pid 1234:tid 5678] [client 10.0.0.1] msg",
     Severity::error, "", "[client 10.0.0.1] msg"},
    {"2026-03-04 05:06:07.448 UTC [1234] LOG:  database ready", Severity::info, "",
     " database ready"},
    {"[2026-03-04T05:06:07Z INFO  my_crate::mod] msg", Severity::info, "", "msg"},
    {"2026-03-04T05:06:07.448120Z  INFO my_crate::module: msg", Severity::info, "", "msg"},
    {"[2026-03-04 05:06:07.448] [console] [info] [file.cpp:12] msg", Severity::info, "file.cpp:12",
     "msg"},
    {"26/03/04 05:06:07 INFO SparkContext: Running Spark", Severity::info, "", "Running Spark"},
    {"2026-03-04 05:06:07.448  INFO 12345 --- [           main] c.e.Foo  : Started", Severity::info,
     "", "Started"},
    {"05:06:07.448 [main] INFO  com.foo.Bar - msg", Severity::info, "", "msg"},
    {"[2026-03-04T05:06:07,448][INFO ][o.e.n.Node] [name] msg", Severity::info, "", "[name] msg"},
    {"[2026-03-04 05:06:07 +0000] [1234] [INFO] Booting worker", Severity::info, "",
     "Booting worker"},
    {"[2026-03-04 05:06:07,448: INFO/MainProcess] celery", Severity::info, "", "celery"},
    {"[I 2026-03-04 05:06:07,448] Trial 0 finished", Severity::info, "", "Trial 0 finished"},
    {"[I 05:06:07.448 NotebookApp] text", Severity::info, "", "text"},
    {"[I 260304 05:06:07 web:2246] text", Severity::info, "web:2246", "text"},
    {"2026-03-04 05:06:07,448\tINFO worker.py:1841 -- Started", Severity::info, "worker.py:1841",
     "Started"},
    {"[2026-03-04 05:06:07,448 I 48213 48213] (raylet) main.cc:123: msg", Severity::info,
     "main.cc:123", "msg"},
    {"[03/04/2026-05:06:07] [TRT] [E] msg", Severity::error, "", "msg"},
    {"[TensorRT-LLM][INFO] msg", Severity::info, "", "msg"},
    {"[1772600767.448120] [gpu-n017:48213:0]  ucp_context.c:1526 UCX  INFO  msg", Severity::info,
     "ucp_context.c:1526", "msg"},
    {"[512344.682838] NVRM: Xid", Severity::unset, "", "NVRM: Xid"},
    {"2026-03-04 05:06:07.448 12345 INFO nova.compute [req-1] msg", Severity::info, "",
     "[req-1] msg"},
    {"03-04 05:06:07.448  1234  5678 E Tag: message", Severity::error, "", "message"},
    {"E, [2026-03-04T05:06:07.448120 #48213] ERROR -- : msg", Severity::error, "", "msg"},
    {"[2026-03-04T05:06:07.448+00:00] app.ERROR: msg", Severity::error, "", "msg"},
    {"[2026-03-04T05:06:07.448] error: node down", Severity::error, "", "node down"},
    {"[2026-03-04, 05:06:07 UTC] {taskinstance.py:1234} INFO - msg", Severity::info,
     "taskinstance.py:1234", "msg"},
    {"05:06:07.448 | INFO    | Flow run", Severity::info, "", "Flow run"},
    {"00:20:21 SUCCESS Step 0 | Time: 58.11s | Loss: 0.0000", Severity::info, "",
     "Step 0 | Time: 58.11s | Loss: 0.0000"},
    {"INFO[0000] msg key=val", Severity::info, "", "msg key=val"},
    {"[05:06:07 INF] msg", Severity::info, "", "msg"},
    {"2026-03-04 05:06:07 [info     ] msg  key=val", Severity::info, "", "msg  key=val"},
    {"03/04/2026 05:06:07 [INFO|DP=0|PP=0|TP=0|gpu-n017]: msg", Severity::info, "", "msg"},
    {"2026-03-04 05:06:07,448: rank0[48213][MainThread]: INFO: composer.x: msg", Severity::info, "",
     "msg"},
    {"2026-03-04 05:06:07.448120 I | etcdserver: msg", Severity::info, "", "etcdserver: msg"},
    {"[ERROR] something broke", Severity::error, "", "something broke"},
    {"[info] compiling", Severity::info, "", "compiling"},
    {"INFO 2026-03-04 05:06:07,448 trainer.py:88 msg", Severity::info, "trainer.py:88", "msg"},
    {"trainer - INFO - hello", Severity::info, "", "hello"},
    {"[trainer] INFO: hello", Severity::info, "", "hello"},
    {"INFO - hello", Severity::info, "", "hello"},
    {"time=\"2026-03-04T05:06:07Z\" level=info msg=\"started\" rank=3", Severity::info, "",
     "msg=\"started\" rank=3"},
    {"t=2026-03-04T05:06:07Z lvl=warn msg=x", Severity::warning, "", "msg=x"},
    {"foo.cc:12:5: error: expected ';'", Severity::error, "foo.cc:12", "expected ';'"},
    {"2026-03-04T05:06:07.448+0100\tERROR\ttrainer\tpkg/x.go:88\tboom", Severity::error,
     "pkg/x.go:88", "boom"},
    {"[48213] 2026-03-04 05:06:07 INFO hello", Severity::info, "", "hello"},
    {"trainer.py:88: INFO: hello", Severity::info, "trainer.py:88", "hello"},
    {"INFO  [trainer] hello", Severity::info, "", "hello"},
    {"WARNING:2026-03-04 05:06:07,448:jax._src.xla_bridge:812: An NVIDIA GPU", Severity::warning,
     "jax._src.xla_bridge:812", "An NVIDIA GPU"},
    {"[2026-03-04 05:06:07,448] [RANK 3] [INFO] hello", Severity::info, "", "hello"},
    {"[05:06:07] INFO     hello      train.py:88", Severity::info, "train.py:88",
     "hello      train.py:88"},
    {"2026-03-04 05:06:07 INFO     root:train.py:88 hello", Severity::info, "train.py:88", "hello"},
    {"05:06:07 | train.py:88 | WARNING | hello", Severity::warning, "train.py:88", "hello"},
    {"2026-03-04 05:06:07.448 [WARN] (trainer.py:88) slow", Severity::warning, "trainer.py:88",
     "slow"},
    {"1772600767448 [main] ERROR com.x.Y - hello", Severity::error, "", "hello"},
    {"[2026-03-04 05:06:07,448][train][INFO] - hello", Severity::info, "", "hello"},
    {"[WARNING|train.py:88] hello", Severity::warning, "train.py:88", "hello"},
};

// Headers that leave the whole line to the message.
const HeaderShape kWhole[] = {
    {"{\"asctime\":\"2026-03-04 "
     "05:06:07,448\",\"levelname\":\"INFO\",\"message\":\"x\",\"filename\":\"worker.py\","
     "\"lineno\":12,\"process\":123}",
     Severity::info, "worker.py:12",
     "{\"asctime\":\"2026-03-04 "
     "05:06:07,448\",\"levelname\":\"INFO\",\"message\":\"x\",\"filename\":\"worker.py\","
     "\"lineno\":12,\"process\":123}"},
    {"{\"level\":\"info\",\"ts\":1772600767.4481,\"logger\":\"x\",\"caller\":\"pkg/"
     "file.go:12\",\"msg\":\"hi\"}",
     Severity::info, "pkg/file.go:12",
     "{\"level\":\"info\",\"ts\":1772600767.4481,\"logger\":\"x\",\"caller\":\"pkg/"
     "file.go:12\",\"msg\":\"hi\"}"},
    {"{\"level\":30,\"time\":1772600767448,\"pid\":1,\"hostname\":\"h\",\"msg\":\"x\"}",
     Severity::info, "",
     "{\"level\":30,\"time\":1772600767448,\"pid\":1,\"hostname\":\"h\",\"msg\":\"x\"}"},
    {"{\"time\":\"2026-03-04T05:06:07.4Z\",\"level\":\"WARN\",\"source\":{\"function\":\"main.f\","
     "\"file\":\"/a/b.go\",\"line\":12},\"msg\":\"x\"}",
     Severity::warning, "/a/b.go:12",
     "{\"time\":\"2026-03-04T05:06:07.4Z\",\"level\":\"WARN\",\"source\":{\"function\":\"main.f\","
     "\"file\":\"/a/b.go\",\"line\":12},\"msg\":\"x\"}"},
    {"{\"timestamp\":\"2026-03-04T05:06:07Z\",\"severity\":\"ERROR\",\"message\":\"a \\\"b\\\" "
     "{c}\",\"x\":[1,{\"level\":\"info\"}]}",
     Severity::error, "",
     "{\"timestamp\":\"2026-03-04T05:06:07Z\",\"severity\":\"ERROR\",\"message\":\"a \\\"b\\\" "
     "{c}\",\"x\":[1,{\"level\":\"info\"}]}"},
    {"{\"t\":{\"$date\":\"2026-03-04T05:06:07.448Z\"},\"level\":\"E\",\"msg\":\"x\"}",
     Severity::error, "",
     "{\"t\":{\"$date\":\"2026-03-04T05:06:07.448Z\"},\"level\":\"E\",\"msg\":\"x\"}"},
    {"slurmstepd-gpu-n017: error: *** JOB 88123 ON gpu-n017", Severity::error, "",
     "slurmstepd-gpu-n017: error: *** JOB 88123 ON gpu-n017"},
    {"srun: error: gpu-n017: task 3: Out Of Memory", Severity::error, "",
     "srun: error: gpu-n017: task 3: Out Of Memory"},
    {"ld: warning: x", Severity::warning, "", "ld: warning: x"},
    {"[gpu-n017:01615] Signal: Segmentation fault (11)", Severity::fatal, "",
     "[gpu-n017:01615] Signal: Segmentation fault (11)"},
    {"thread 'main' panicked at src/main.rs:12:5:", Severity::error, "src/main.rs:12",
     "thread 'main' panicked at src/main.rs:12:5:"},
    {"../aten/src/Indexing.cu:1290: f: block: [0,0,0] Assertion `a < b` failed.", Severity::error,
     "../aten/src/Indexing.cu:1290",
     "../aten/src/Indexing.cu:1290: f: block: [0,0,0] Assertion `a < b` failed."},
};

const std::string_view kFalseFriends[] = {
    "The quick brown fox jumps over the lazy dog.",
    "Error: cannot open file",
    "error opening file",
    "warning signs of overfitting",
    "INFO about the release",
    "ERROR handling is described below",
    "Note: this is a note",
    "WARNINGS: none",
    "# INFO: heading",
    "  - error: a list item",
    "debug: true",
    "error: false",
    "level: info",
    "info:",
    "log: debug",
    "[error]",
    "[debug]: https://example.org/x",
    "[warn](https://example.org)",
    "[Error Handling]",
    "[D] A discussion about models",
    "[x] done",
    "[ ] todo",
    "[1, 2, 3]",
    "[0.123456, 2.0]",
    "[12.5] x",
    "[foo] bar",
    "[foo.bar:12] x",
    "[gpu:0] x",
    "[a:b] c",
    "{\"loss\": 2.31, \"step\": 40, \"time\": 1772600767}",
    "{\"level\": \"advanced\", \"name\": \"x\", \"message\": \"hello world\"}",
    "{\"message\": \"x\", \"timestamp\": \"2026-03-04T05:06:07Z\"}",
    "{\"level\": 3, \"msg\": \"x\", \"time\": 12}",
    "{\"error\": \"info\", \"a\": {\"level\": \"error\", \"message\": \"x\"}}",
    "{",
    "{}",
    "{\"",
    "1772600767,0.5,error",
    "2026-03-04,0.5,1.5",
    "2026-03-04T05:06:07Z,1.5,2.5",
    "2026-03-04 05:06:07\t12.5\t3",
    "1772600767 0.5 0.7",
    "05:06:07 the clock struck",
    "00:01:02,500 --> 00:01:05,000",
    "12:30 lunch",
    "10.20.3.17:41231 connected",
    "localhost:8080 is up",
    "std::error_code ec;",
    "case ERROR: return 1;",
    "ERROR::kind x",
    "#define INFO 1",
    "int x = 5; // ERROR: no",
    "import logging",
    "def error(self): pass",
    "logger.error(\"x\")",
    "return Error: x",
    "main.cpp:12: text without a level",
    "x.py:12",
    "http://a.b:80/c",
    "a=1 b=2",
    "level=high price=3",
    "time=5 x=2",
    "t=0.5 loss=1",
    "I am here",
    "I0304 is a room",
    "E = mc^2",
    "W e",
    "Mar 4 was a Wednesday",
    "May 12 people came",
    "Monday 05:06:07",
    "Wed Mar 4 is a day",
    "26/03/04 is a date",
    "03-04 vllm",
    "FAILED: x",
    "PASSED tests/test_x.py::test_a",
    "step=60 loss=0.1",
    "RuntimeError: INFO",
    "KeyError: 'x'",
    "(see main.py:12) for more",
    "(pid=1) x",
    "<info> x",
    "<div class=\"error\">",
    "| INFO | the level |",
    "INFO | description",
    "- ERROR: in a list",
    "'error': 1",
    "\"level\": \"error\",",
    "    \"message\": \"x\",",
    "gpu-n017:48213:48377 hello",
    "a:1:2 [3] NCCL",
    "srun: x",
    "Usage: error",
    "foo: bar: error",
    "0: error",
    "config: debug: true",
    "FTL [License]",
    "NOTICE [COPYRIGHT] x",
    "[1] ERROR x",
    "[12] 2026 x",
    "99999999999999999999 INFO x",
    "9999999999999999999 INFO x",
};

}  // namespace

TEST_CASE("Header shapes: time, level and place are found in whatever order they are printed") {
  for (const HeaderShape& shape : kShapes) check_header(shape);
}

TEST_CASE("Header shapes: JSON and programs that name themselves leave the line as it is") {
  for (const HeaderShape& shape : kWhole) check_header(shape);
}

TEST_CASE("Header shapes: prose, code, data and headings have none") {
  for (std::string_view text : kFalseFriends) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_header(text).has_value());
  }
}

TEST_CASE("Header shapes: what follows a header without a blank decides about its last element") {
  for (const std::string_view learned : {"[Error][", "[Error][a] b", "[Error] b", "[Error]"}) {
    HeaderReader reader;
    reader.read(learned);
    for (const std::string_view rest : {"", " ", "x", "\xff", "\xc3\xa9", "%", "\x1c", "!x", "[",
                                        "[a] b", " [a] b", ":", " : x"}) {
      const std::string text = "[Error]" + std::string(rest);
      CAPTURE(text);
      const auto read = reader.read(text), plain = parse_header(text);
      REQUIRE(read.has_value() == plain.has_value());
      if (plain) CHECK(read->size == plain->size);
    }
  }
}

TEST_CASE("Header shapes: what a reader learned from other lines changes nothing") {
  check_reader(kShapes, kFalseFriends);
}

TEST_CASE("Header shapes: a cut or damaged header stays within the text") {
  std::mt19937 random(20261130);
  auto exercise = [&](std::string_view text) {
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const std::string exact(text.substr(0, size));  // on the heap: the sanitizer sees its end
      const auto header = parse_header(exact);
      if (header) CHECK(header->size <= exact.size());
    }
    for (int i = 0; i < 50; ++i) {
      std::string damaged(text);
      damaged[random() % damaged.size()] = static_cast<char>(random());
      const auto header = parse_header(damaged);
      if (header) CHECK(header->size <= damaged.size());
    }
  };
  for (const HeaderShape& shape : kShapes) exercise(shape.text);
  for (const HeaderShape& shape : kWhole) exercise(shape.text);
}

}  // namespace logarithm
