#pragma once

#include <optional>
#include <string_view>

#include "common/line/log_header.h"

// Headers that are no sequence of elements. They fill `header`, which is to be empty.
namespace logarithm::header {

// One JSON object as loggers write it: time, level, message, call site under the usual keys, at its
// top level. The whole line stays the message. False for an object that is data: one without a
// level and a message, or without a time and either of them.
bool parse_json(std::string_view text, LogHeader& header);

// `time="…" level=info msg="…"`: up to the message. False without a level and a time or message.
bool parse_logfmt(std::string_view text, LogHeader& header);

// `x.py:87: UserWarning: text`, `a.cc:12:5: error: text`, `x.cu:1290: f: … Assertion … failed`,
// `transport.cpp:420: text` (a place and no level), `thread 'main' panicked at a.rs:2:5:`.
bool parse_diagnostic(std::string_view text, LogHeader& header);

// Open MPI: `[host:pid] *** Process received signal ***` and the lines of its report, or other text
// behind `[host:pid] `. The whole line stays the message.
bool parse_mpi(std::string_view text, LogHeader& header);

// Heads that only one program prints: libfabric, Lustre, MPICH's launcher, access logs of HTTP
// servers, PBS, HIP.
bool parse_program(std::string_view text, LogHeader& header);

}  // namespace logarithm::header
