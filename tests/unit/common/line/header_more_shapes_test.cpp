#include "tests/unit/common/line/header_shape.h"

// Heads that were found by looking at frameworks that nobody here had seen: MindSpore, CANN, UCX,
// OLMo, nanotron, sglang, Neuron, oneCCL, HIP, libfabric, Lustre, MPICH, PBS and others.
namespace logarithm {
namespace {

const HeaderShape kShapes[] = {
    {"LAUNCH ERROR 2026-03-04 05:06:07,160 failed", Severity::error, "", "failed"},
    {"[ERROR] ME(130371:281473296949264,MainProcess):2026-03-04-05:06:07.839.923 "
     "[parallel/_api.py:268] x",
     Severity::error, "parallel/_api.py:268", "x"},
    {"[ERROR] HCCL(36035,python):2026-03-04-05:06:07.068.817 [op_base.cc:974][36818] x",
     Severity::error, "op_base.cc:974", "x"},
    {"[ERROR] 2026-03-04-05:06:07 (PID:1292363, Device:1, RankID:1) ERR01100 x", Severity::error,
     "", "ERR01100 x"},
    {"2026-Mar-04 05:06:07.200978 58093:58094 ERROR   text", Severity::error, "", "text"},
    {"(WARNING) (reconstruct.py) (04-Mar-26 05:06:07) text", Severity::warning, "", "text"},
    {"2026-03-04 05:06:07.181 gpu-n017:0  olmo.train:908  INFO    [step=1/7]", Severity::info,
     "olmo.train:908", "[step=1/7]"},
    {"2026-03-04 05:06:07 WARN  TaskSetManager:71 - Lost task", Severity::warning,
     "TaskSetManager:71", "Lost task"},
    {"2026-03-04T05:06:07.679547Z  WARN doseid::server: 39: up", Severity::warning,
     "doseid::server:39", "up"},
    {"2026-03-04T05:06:07Z\tERROR\tcontroller.stack\tfailed\t{\"a\": 1}", Severity::error, "",
     "failed\t{\"a\": 1}"},
    {"[03/04/26 05:06:07] INFO     colossalai - colossalai - INFO: /a/b.py:558 set_seed",
     Severity::info, "/a/b.py:558", "set_seed"},
    {"                    WARNING  text", Severity::warning, "", "text"},
    {"10/17/2026 16:31:56 [INFO|DP=0|PP=0|TP=0|ip-26-0-160-225]: text", Severity::info, "", "text"},
    {"[2026-03-04T05:06:07.677] debug2: Error connecting", Severity::debug, "", "Error connecting"},
    {"2026-03-04 05:06:07 *ERROR* text", Severity::error, "", "text"},
    {"2026:03:04-05:06:07:(48213) |CCL_WARN| text", Severity::warning, "", "text"},
    {"[05:06:07.448] INFO (48213): text", Severity::info, "", "text"},
    {"2026-03-04 05:06:07;ERROR;text", Severity::error, "", "text"},
    {"2026-03-04 05:06:07|ERROR|text", Severity::error, "", "text"},
    {"March 4, 2026 05:06:07 ERROR text", Severity::error, "", "text"},
    {"3/4/2026 5:06:07 AM ERROR text", Severity::error, "", "text"},
    {"2026-03-04 05:06:07:448 ERROR text", Severity::error, "", "text"},
    {"[gpu-n017:19546:0:19546] ib_mlx5_log.c:139  text", Severity::unset, "ib_mlx5_log.c:139",
     " text"},
    {"[1772600767.448120] [gpu-n017:48213:0]          select.c:630  UCX  ERROR   text",
     Severity::error, "select.c:630", "text"},
    {"[2026-03-04 05:06:07 DP1 TP3] Prefill batch, #new-seq: 1", Severity::unset, "",
     "Prefill batch, #new-seq: 1"},
    {"gpu-n017:4073:4074 [2] NVSHMEM INFO text", Severity::info, "", "NVSHMEM INFO text"},
    {"libfabric:23671:1772600767::core:core:fi_getinfo_():1385<warn> text", Severity::warning, "",
     "text"},
    {"libfabric:72089:core:core:fi_param_get_():280<info> text", Severity::info, "", "text"},
    {"[proxy:0:1@gpu-n017] HYD_cb (pm/pmip_cb.c:878): assert (!closed) failed", Severity::error,
     "pm/pmip_cb.c:878", "assert (!closed) failed"},
    {"03/04/2026 05:06:07;0008;PBS_Server.12149;Job;7.hal;Job deleted", Severity::unset, "",
     "Job;7.hal;Job deleted"},
    {":1:rocdevice.cpp            :2614: 1234567890 us: [pid:48213 tid:0x7f3b] text",
     Severity::error, "rocdevice.cpp:2614", "text"},
    {"[2026-03-04T05:06:07.675] [123.0] error: text", Severity::error, "", "text"},
    {"2026-03-04 05:06:07,448 - trainer.py[line:88] - ERROR: text", Severity::error,
     "trainer.py:88", "text"},
    {"2026-03-04 05:06:07,448 trainer.py ERROR (88): text", Severity::error, "trainer.py:88",
     "text"},
    {"ERROR conda.cli.main_run:execute(41): text", Severity::error, "conda.cli.main_run:41",
     "text"},
    {">>> [2026-03-04 05:06:07,448] [ERROR] text", Severity::error, "", "text"},
    {"* 2026-03-04 05:06:07,448 ERROR text", Severity::error, "", "text"},
    {"2026-03-04T05:06:07.448120Z ERROR ThreadId(01) my_crate::mod: src/main.rs:39: text",
     Severity::error, "src/main.rs:39", "text"},
    {"2026-03-04T05:06:07.448120Z ERROR span{id=3}: my_crate::mod: text", Severity::error, "",
     "text"},
    {" WARN my_crate::mod: text", Severity::warning, "", "text"},
    {"trainer-0 2026-03-04 05:06:07,448 ERROR text", Severity::error, "", "text"},
    {"ts=2026-03-04T05:06:07.448Z level=info component=trainer step=120 loss=2.31", Severity::info,
     "", "step=120 loss=2.31"},
    {"/src/transport.cpp:420: non-zero status: 7", Severity::unset, "/src/transport.cpp:420",
     "non-zero status: 7"},
    // Another look: a thread behind the place, ids between time and level, hosts in brackets, a
    // name in front of glog's place, dates that a comma parts from the clock, powers of ten.
    {"[ERROR] GE(946748,main):2026-03-04-05:06:07.739.753 [host_cpu_engine.cc:288]947062 Load: x",
     Severity::error, "host_cpu_engine.cc:288", "Load: x"},
    {"[INFO] GE(1,a):2026-03-04-05:06:07.739.753 [a.cc:288]9 x", Severity::info, "a.cc:288", "x"},
    {"[2026-03-04T05:06:07.471180Z] 08204a0a || INFO: text", Severity::info, "", "text"},
    {"[2026-03-04T05:06:07.471180Z] dc5b74e6 || WARNING: text", Severity::warning, "", "text"},
    {"[2026-03-04T05:06:07.471180Z] || INFO: text", Severity::info, "", "text"},
    {"2026-03-04 05:06:07,402: rank3[11406][MainThread]: INFO: composer.trainer: text",
     Severity::info, "", "text"},
    {"[2026-03-04 05:06:07.837 ip-10-0-227.eu-west-1.internal:22 INFO json_config.py:90] text",
     Severity::info, "json_config.py:90", "text"},
    {"[2026-03-04 05:06:07.837 algo-1:22 WARNING hook.py:382] text", Severity::warning,
     "hook.py:382", "text"},
    {"I20260304 05:06:07 65566 dinov2 helpers.py:103] text", Severity::info, "helpers.py:103",
     "text"},
    {"W0304 05:06:07.448120 65566 my.logger train.py:7] text", Severity::warning, "train.py:7",
     "text"},
    {"2026-03-04,05:06:07 | INFO | text", Severity::info, "", "text"},
    {"2026-03-04, 05:06:07 | ERROR | text", Severity::error, "", "text"},
    {"1.7725011725e+09\tDEBUG\tevents\ttext\t{\"a\": 1}", Severity::debug, "",
     "events\ttext\t{\"a\": 1}"},
    {"1.77250117e+09\tINFO\tsetup\ttext", Severity::info, "", "setup\ttext"},
    {"DLL 2026-03-04 05:06:07.614486 - text", Severity::unset, "", "text"},
};

// The whole line stays the message.
const HeaderShape kWhole[] = {
    {"LustreError: 6573:0:(osp.c:1259:osp_thread()) rc = -116", Severity::unset, "osp.c:1259",
     "LustreError: 6573:0:(osp.c:1259:osp_thread()) rc = -116"},
    {"10.0.0.1 - - [04/Mar/2026:05:06:07 +0000] \"GET / HTTP/2.0\" 200 1", Severity::unset, "",
     "10.0.0.1 - - [04/Mar/2026:05:06:07 +0000] \"GET / HTTP/2.0\" 200 1"},
    {"slurmctld[26180]: fatal: text", Severity::fatal, "", "slurmctld[26180]: fatal: text"},
    {"[gpu-n017:48213] pml_ucx.c:419  Error: text", Severity::error, "pml_ucx.c:419",
     "[gpu-n017:48213] pml_ucx.c:419  Error: text"},
    {"[gpu-n017:430817] *** An error occurred in MPI_Init", Severity::unset, "",
     "[gpu-n017:430817] *** An error occurred in MPI_Init"},
};

const std::string_view kNone[] = {
    "HTTP ERROR 404 is what a server answers",
    "PARSE ERROR at line 12",
    "foo[0] = bar",
    "(ERROR) is printed when it fails",
    "          ERROR    a row of a table",
    "libfabric: a library",
    "LustreError: is printed",
    "[rank:3:2] x",
    "[localhost:29500] refused",
    "5/9 00:12:34 done",
    "3/4 of it",
    "1 May be so",
    "May be 2026",
    "Monday, the 4th",
    "::: a fence",
    ":1: is a footnote",
    "*ERROR* text",
    "foo.py:12 - text",
    "a:1:2:3 x",
    "192.168.0.1 - the router",
    "a | b",
    "* [1] is a footnote",
    "# 12 is a heading",
    "> 5 is more than 4",
    " WARN: my_crate::mod",
    " NOTE my_crate::mod",
    "1.5e+09 is a power of ten",
    "1.7725011725e+08\tINFO\tx",
    "1.7e+09\tINFO\tx",
    "DLL 1 is missing",
    "08204a0a || INFO: text",
};

}  // namespace

TEST_CASE("More header shapes: their time, level and place are found") {
  for (const HeaderShape& shape : kShapes) check_header(shape);
  for (const HeaderShape& shape : kWhole) check_header(shape);
}

TEST_CASE("More header shapes: text that looks like them has none") {
  for (std::string_view text : kNone) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_header(text).has_value());
  }
}

TEST_CASE("More header shapes: what stands in a header beside time, level and place is named") {
  struct Case {
    std::string_view text, key, value;
  };
  for (const Case& c : {
           Case{"2026-03-04 05:06:07,402: rank3[11406][MainThread]: INFO: composer: text", "rank",
                "3"},
           Case{"2026-03-04 05:06:07,402: rank3[11406][MainThread]: INFO: composer: text", "pid",
                "11406"},
           Case{"2026-03-04 05:06:07,402: ranks[11406]: INFO: composer: text", "pid", "11406"},
           Case{"[2026-03-04 05:06:07.837 algo-1:22 INFO hook.py:382] text", "host", "algo-1"},
           Case{"[2026-03-04 05:06:07.837 algo-1:22 INFO hook.py:382] text", "pid", "22"},
           Case{R"({"level": "info", "message": "x", "rank": 12, "lineno": 8})", "rank", "12"},
           Case{"[ERROR] GE(9,main):2026-03-04-05:06:07.739.753 [a.cc:8]947062 x", "tid", "947062"},
       }) {
    CAPTURE(std::string(c.text));
    const auto header = parse_header(c.text);
    REQUIRE(header.has_value());
    std::string_view value;
    for (std::size_t i = 0; i < header->field_count; ++i) {
      if (header->fields[i].key == c.key) value = header->fields[i].value;
    }
    CHECK(value == c.value);
  }
}

TEST_CASE("More header shapes: seconds in powers of ten are the instant that they say") {
  const auto header = parse_header("1.7725011725e+09\tDEBUG\tevents\ttext");
  REQUIRE(header.has_value());
  REQUIRE(header->time.has_value());
  CHECK(header->time->instant == 1'772'501'172'500'000'000);
  const auto exact = parse_header("1.7085078124461591e+09\tDEBUG\tevents\ttext");
  REQUIRE(exact.has_value());
  CHECK(exact->time->instant == 1'708'507'812'446'159'100);
}

TEST_CASE("More header shapes: what a reader learned from other lines changes nothing") {
  check_reader(kShapes);
}

TEST_CASE("More header shapes: a cut header stays within the text") {
  for (const HeaderShape& shape : kShapes) {
    for (std::size_t size = 0; size <= shape.text.size(); ++size) {
      const std::string exact(shape.text.substr(0, size));
      if (const auto header = parse_header(exact)) CHECK(header->size <= exact.size());
    }
  }
}

}  // namespace logarithm
