#include "common/line/log_header.h"
#include "common/line/wrappers/cursor.h"
#include "common/line/wrappers/layer.h"

// What launchers put in front of the lines of their ranks.
namespace logarithm::wrappers {
namespace {

bool is_tag_char(char c) { return c > ' ' && c != ']' && c != ',' && c != '@' && c != '['; }

// `<stdout>:` and one blank, if any.
bool read_output_name(Cursor& in, Layer& layer) {
  if (in.take("<stdout>:")) {
    layer.output = Output::out;
  } else if (in.take("<stderr>:")) {
    layer.output = Output::err;
  } else if (in.take("<stddiag>:")) {
    layer.add("stream", "stddiag");
  } else {
    return false;
  }
  in.take(' ');
  return true;
}

// `[1,3]`, `[prterun-n017-48213@1,3]` (Open MPI), `[3]` (Horovod).
bool read_bracketed_rank(Cursor& in, Layer& layer) {
  if (!in.take('[')) return false;
  const std::size_t begin = in.at;
  in.run(is_tag_char);
  const bool has_job = in.take('@');
  if (!has_job) in.at = begin;
  in.blanks();
  const auto first = in.number();
  if (!first) return false;
  if (!has_job && in.take(']')) {
    layer.rank = first;
    return true;
  }
  if (!in.take(',')) return false;
  in.blanks();
  layer.rank = in.number();
  layer.add("mpi_job", std::int64_t{*first});
  if (!layer.rank || !in.take(']')) return false;
  // --tag-output-detailed: [host:pid] behind it
  const std::size_t before = in.at;
  if (in.take('[')) {
    const auto host = in.run([](char c) { return is_word(c) || c == '.' || c == '-'; });
    const bool sized = !host.empty() && in.take(':');
    const auto pid = in.number(9);
    if (!sized || !pid || !in.take(']')) {
      in.at = before;
    } else {
      layer.add("host", host);
      layer.add("pid", std::int64_t{*pid});
    }
  }
  return true;
}

}  // namespace

bool read_output_tag(std::string_view text, Layer& layer) {
  Cursor in{text};
  PrintedTime time;
  if (text.empty()) return false;
  // mpirun --timestamp-output, horovodrun --prefix-output-with-timestamp
  if (is_letter(text[0])) {
    if (!read_weekday_stamp(text, in.at, time)) return false;
    layer.time = time;
    in.take(' ');
  } else if (is_digit(text[0])) {
    if (!read_iso(text, in.at, time) || !is_date(time)) return false;
    layer.time = time;
    in.take(' ');
  }
  if (!read_bracketed_rank(in, layer) || !read_output_name(in, layer)) return false;
  layer.size = in.at;
  return true;
}

bool read_rank_prefix(std::string_view text, Layer& layer) {
  const auto prefix = parse_rank_prefix(text);
  if (!prefix) return false;
  layer.rank = prefix->rank;
  layer.size = prefix->size;
  return true;
}

bool read_role_prefix(std::string_view text, Layer& layer) {
  Cursor in{text};
  if (!in.take('[') || !(is_letter(in.peek()) || in.peek() == '_')) return false;
  const std::size_t begin = in.at;
  const auto name = in.run([](char c) { return is_word(c) || c == '-'; }, 64);
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  if (digits == name.size()) return false;
  const std::size_t stop = in.at;
  in.at = begin + digits;
  layer.local_rank = in.number();
  if (!layer.local_rank || in.at != stop) return false;
  // A template that names the restart too: [default3|attempt_1]:
  if (in.take('|') || in.take(' ') || in.take('/')) {
    if (!in.take("attempt")) return false;
    if (!in.take('_') && !in.take('=')) in.take(' ');
    const auto attempt = in.number();
    if (!attempt) return false;
    layer.add("attempt", std::int64_t{*attempt});
  }
  if (!in.take("]:")) return false;
  layer.add("role", name.substr(0, digits));
  layer.add("local_rank", std::int64_t{*layer.local_rank});
  layer.size = in.at;
  return true;
}

bool read_task_label(std::string_view text, Layer& layer) {
  Cursor in{text};
  if (in.take('P')) {
    const auto het = in.number(6);
    if (!het || !in.take(' ')) return false;
    layer.add("het", std::int64_t{*het});
  }
  in.blanks();
  layer.task = in.number(7);
  if (!layer.task || !in.take(": ")) return false;
  layer.size = in.at;
  return true;
}

bool read_rank_template(std::string_view text, Layer& layer) {
  Cursor in{text};
  if (!in.take('[')) return false;
  const auto role = in.run([](char c) { return is_letter(c) || c == '_' || c == '-'; }, 64);
  layer.rank = in.number();
  if (!layer.rank) return false;
  if (in.take('|')) {
    layer.local_rank = in.number();
    if (!layer.local_rank) return false;
  }
  if (!in.take("]:")) return false;
  if (!role.empty()) layer.add("role", role);
  if (layer.local_rank) layer.add("local_rank", std::int64_t{*layer.local_rank});
  layer.size = in.at;
  return true;
}

}  // namespace logarithm::wrappers
