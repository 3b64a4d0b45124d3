#include "common/line/record_shapes.h"

#include <algorithm>
#include <initializer_list>

namespace logarithm {
namespace {

using Kind = OpenRecord::Kind;

constexpr std::string_view kTraceback = "Traceback (most recent call last):";

// Phases of a traceback.
enum Phase : std::uint8_t {
  kFrames = 0,
  kPrelude,    // "Exception in thread …": the traceback itself follows
  kException,  // after the line that names the exception: its message, or a chain, may go on
  kChain,      // a blank line after it
  kLinked,     // "During handling of the above exception …": the next traceback follows
  kOneMore,    // "Last error:": the next line is it
  kElastic,    // ChildFailedError: the table of failures follows
  kTable,
  kStarTable,
  kIgnored,  // "Exception ignored in: …": a traceback follows, or the exception at once
};

bool starts_with_any(std::string_view body, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return body.starts_with(start); });
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// `RuntimeError: text`, `torch.cuda.OutOfMemoryError: text`, `KeyboardInterrupt`.
bool names_exception(std::string_view body) {
  std::size_t i = 0;
  while (i < body.size() && is_word(body[i])) ++i;
  return i > 0 && (body[0] < '0' || body[0] > '9') && (i == body.size() || body[i] == ':');
}

std::string_view trimmed(std::string_view body) {
  while (!body.empty() && (body.back() == ' ' || body.back() == '\t')) body.remove_suffix(1);
  return body;
}

bool is_blank(std::string_view body) { return trimmed(body).empty(); }

// A row of at least 20 of one character.
bool is_rule(std::string_view body, char of) {
  body = trimmed(body);
  return body.size() >= 20 && body.find_first_not_of(of) == std::string_view::npos;
}

// What libraries print behind the message of an exception, at the margin.
bool continues_message(std::string_view body) {
  return starts_with_any(
      body, {"frame #", "Exception raised from ", "CUDA kernel errors might be",
             "For debugging consider passing", "Compile with `TORCH_USE_", "C++ CapturedTraceback:",
             "Device-side assertion tracking", "Search for `", "HIP kernel errors might be",
             "Caused by: ", "The above operation failed", "To execute this test"});
}

bool is_nccl_error(std::string_view body) {
  return body.starts_with("nccl") && body.substr(0, 40).find("Error") != std::string_view::npos;
}

Fit fit_exception(std::uint8_t& phase, std::string_view body) {
  if (is_blank(body)) {
    phase = kChain;
    return Fit::silent;
  }
  if (starts_with_any(body, {"During handling of the above exception",
                             "The above exception was the direct cause"})) {
    phase = kLinked;
    return Fit::yes;
  }
  if (phase == kChain) return Fit::no;
  if (is_nccl_error(body)) return Fit::yes;
  if (body.starts_with("Last error:")) {
    phase = kOneMore;
    return Fit::yes;
  }
  return is_indented(body) || continues_message(body) ? Fit::yes : Fit::no;
}

Fit fit_traceback(std::uint8_t& phase, std::string_view body) {
  switch (phase) {
    case kPrelude:
    case kIgnored:
    case kLinked:
      if (body.starts_with(kTraceback)) {
        phase = kFrames;
        return Fit::restart;
      }
      if (phase == kLinked && is_blank(body)) return Fit::silent;
      // The next exception has no frames, or (Java) the frames follow at once.
      if (is_indented(body)) {
        phase = kFrames;
        return Fit::yes;
      }
      if (phase != kPrelude && names_exception(body)) break;
      return Fit::no;
    case kFrames:
      if (is_indented(body)) return Fit::yes;
      if (starts_with_any(body, {"[Previous line repeated", "Caused by: ", "  ..."}))
        return Fit::yes;
      break;
    case kException:
    case kChain: return fit_exception(phase, body);
    case kOneMore: phase = kException; return Fit::yes;
    case kElastic:
      phase = is_rule(body, '=') ? kTable : kStarTable;
      return is_rule(body, '=') || is_rule(body, '*') ? Fit::tail : Fit::no;
    case kTable: return is_rule(body, '=') ? Fit::last : Fit::yes;
    case kStarTable: return is_rule(body, '*') ? Fit::last : Fit::yes;
    default: return Fit::no;
  }
  if (!names_exception(body)) return Fit::no;
  phase = body.find("ChildFailedError:") != std::string_view::npos ? kElastic : kException;
  return Fit::complete;
}

Fit fit_group(std::string_view body) {
  std::size_t i = 0;
  while (i < body.size() && body[i] == ' ') ++i;
  if (i < 2 || i >= body.size() || (body[i] != '|' && body[i] != '+')) return Fit::no;
  // The last line, or that of a group inside the group.
  return body[i] == '+' && is_rule(body.substr(i + 1), '-') ? Fit::complete : Fit::yes;
}

Fit fit_faulthandler(std::string_view body) {
  if (is_blank(body)) return Fit::silent;
  if (body.starts_with("Extension modules: ")) return Fit::last;
  const bool thread = starts_with_any(
      body, {"Thread 0x", "Current thread", "Python runtime state: ",
             "Stack (most recent call first):", "Current thread's C stack trace", "Binary file "});
  return is_indented(body) || thread ? Fit::yes : Fit::no;
}

// terminate called …, *** Aborted at …, ==== backtrace (tid: …) ====
Fit fit_native(std::uint8_t& phase, std::string_view body) {
  if (is_blank(body)) return Fit::silent;
  if (phase == kOneMore) {
    phase = kFrames;
    return Fit::yes;
  }
  if (body.starts_with("Last error:")) phase = kOneMore;
  if (is_rule(body, '=')) return Fit::last;
  const bool frame =
      starts_with_any(body, {"frame #", "PC: @", "*** ", "#", "@ ", "Exception raised from ",
                             "Last error:", "what():", "terminate called "});
  const bool numbered = body.size() > 2 && body[0] >= '0' && body[0] <= '9' && body.find("0x") < 24;
  return is_indented(body) || frame || numbered || is_nccl_error(body) || continues_message(body)
             ? Fit::yes
             : Fit::no;
}

Fit fit_nvrm(std::string_view body) {
  std::size_t i = 0;
  while (i < body.size() && body[i] == ' ') ++i;
  body.remove_prefix(i);
  if (body.starts_with("NVRM: ")) {
    body.remove_prefix(6);
  } else if (i == 0) {
    return Fit::no;
  }
  if (!starts_with_any(body, {"(PCI", "fallen", "installed", "nvidia.ko", "GPU", "not ", "and "})) {
    return i >= 2 ? Fit::yes : Fit::no;
  }
  return trimmed(body).ends_with('.') ? Fit::last : Fit::yes;
}

// A pretty-printed value from its lone opening bracket to the closing one at the margin.
Fit fit_printed(std::string_view body) {
  if (is_blank(body)) return Fit::silent;
  if (is_indented(body)) return Fit::yes;
  return body[0] == '}' || body[0] == ']' || body[0] == ')' ? Fit::last : Fit::no;
}

// Megatron: ---- arguments ---- … ---- end of arguments ----
Fit fit_arguments(std::string_view body) {
  if (body.find(" end of ") != std::string_view::npos && body.starts_with("---")) return Fit::last;
  return is_indented(body) ? Fit::yes : Fit::no;
}

}  // namespace

bool is_indented(std::string_view body) {
  return !body.empty() && (body[0] == ' ' || body[0] == '\t');
}

std::string_view without_margin(std::string_view body) {
  std::size_t i = 0;
  while (i < body.size() && body[i] == ' ') ++i;
  if (i < 2 || i >= body.size() || (body[i] != '|' && body[i] != '+')) return body;
  ++i;
  if (i < body.size() && body[i] == ' ') ++i;
  return body.substr(i);
}

std::optional<ShapeStart> begins_shape(std::string_view body) {
  if (body.size() < 1) return std::nullopt;
  switch (body[0]) {
    case 'T':
      if (body.starts_with(kTraceback))
        return ShapeStart{Kind::traceback, kFrames, Severity::error};
      if (starts_with_any(body, {"Thread 0x", "Timeout (0:"}) &&
          (body[1] == 'i' || body.find("(most recent call first):") != std::string_view::npos)) {
        return ShapeStart{Kind::faulthandler, 0, Severity::unset};
      }
      break;
    case 'E':
      if (starts_with_any(body, {"Exception in thread ", "Error in atexit._run_exitfuncs:"})) {
        return ShapeStart{Kind::traceback, kPrelude, Severity::error};
      }
      if (starts_with_any(body, {"Exception ignored in", "Exception ignored on ",
                                 "Exception ignored while ", "Exception ignored from "})) {
        return ShapeStart{Kind::traceback, kIgnored, Severity::error};
      }
      break;
    case ' ':
      if (body.starts_with("  + Exception Group Traceback (most recent call last):")) {
        return ShapeStart{Kind::group, 0, Severity::error};
      }
      // A SyntaxError of the program itself has frames without a heading.
      if (body.starts_with("  File \"") && body.find("\", line ") != std::string_view::npos) {
        return ShapeStart{Kind::traceback, kFrames, Severity::error};
      }
      break;
    case 'F':
      if (body.starts_with("Fatal Python error: "))
        return ShapeStart{Kind::faulthandler, 0, Severity::fatal};
      break;
    case 'C':
      if (body.starts_with("Current thread 0x"))
        return ShapeStart{Kind::faulthandler, 0, Severity::unset};
      break;
    case 't':
      if (body.starts_with("terminate called "))
        return ShapeStart{Kind::native, 0, Severity::fatal};
      if (body.starts_with("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:")) {
        return ShapeStart{Kind::traceback, kElastic, Severity::error};
      }
      break;
    case 'l':
      if (body.starts_with("libc++abi: terminating"))
        return ShapeStart{Kind::native, 0, Severity::fatal};
      break;
    case '*':
      if (starts_with_any(body, {"*** Aborted at ", "*** SIG"})) {
        return ShapeStart{Kind::native, 0, Severity::fatal};
      }
      break;
    case '=':
      if (body.starts_with("==== backtrace (tid:"))
        return ShapeStart{Kind::native, 0, Severity::fatal};
      break;
    case 'N':
      if (body.starts_with("NVRM: The NVIDIA GPU "))
        return ShapeStart{Kind::nvrm, 0, Severity::error};
      break;
    case '{':
    case '[':
    case '(':
      if (trimmed(body).size() == 1) return ShapeStart{Kind::printed, 0, Severity::unset};
      break;
    case '-':
      if (body.starts_with("------") && body.find(" arguments ---") != std::string_view::npos &&
          body.find(" end of ") == std::string_view::npos) {
        return ShapeStart{Kind::arguments, 0, Severity::unset};
      }
      break;
    default: break;
  }
  return std::nullopt;
}

Fit fit_shape(OpenRecord::Kind kind, std::uint8_t& phase, std::string_view body) {
  switch (kind) {
    case Kind::traceback: return fit_traceback(phase, body);
    case Kind::group: return fit_group(body);
    case Kind::faulthandler: return fit_faulthandler(body);
    case Kind::native: return fit_native(phase, body);
    case Kind::nvrm: return fit_nvrm(body);
    case Kind::printed: return fit_printed(body);
    case Kind::arguments: return fit_arguments(body);
    default: return Fit::no;
  }
}

bool shape_shows(OpenRecord::Kind kind, std::uint8_t phase) {
  switch (kind) {
    case Kind::none:
    case Kind::header:
    case Kind::overflow: return false;
    case Kind::traceback: return phase != kTable && phase != kStarTable;
    default: return true;
  }
}

}  // namespace logarithm
