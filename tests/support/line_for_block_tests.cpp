// Stands in for common/line until that folder is built: a mask of digit runs, FNV-1a, and texts cut
// at positions. Dropped by CMake as soon as lgr_line exists.
#include "common/line/line.h"
#include "common/line/template.h"

namespace logarithm {
namespace {

bool is_variable(char c) { return (c >= '0' && c <= '9') || c == kSlot; }

std::string strip(const Line& line) {
  if (!line.has(line_flag::ansi)) return line.raw;
  std::string out;
  for (std::size_t i = 0; i < line.raw.size(); ++i) {
    if (line.raw[i] != '\x1b') {
      out.push_back(line.raw[i]);
      continue;
    }
    while (i < line.raw.size() && line.raw[i] != 'm') ++i;
  }
  return out;
}

}  // namespace

void mask_body(std::string_view body, MaskedBody& out) {
  out.text.clear();
  out.variables.clear();
  for (std::size_t i = 0; i < body.size();) {
    const std::size_t begin = i;
    while (i < body.size() && is_variable(body[i])) ++i;
    if (i == begin) {
      out.text.push_back(body[i++]);
      continue;
    }
    out.text.push_back(kSlot);
    out.variables.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(i - begin)});
  }
}

TemplateId fingerprint(std::string_view template_text) {
  TemplateId hash = 0xCBF29CE484222325ull;
  for (const char c : template_text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  }
  return hash == 0 ? 1 : hash;
}

TemplateId template_of(std::string_view body) {
  MaskedBody masked;
  mask_body(body, masked);
  return fingerprint(masked.text);
}

std::string_view bytes_of(Terminator terminator) {
  switch (terminator) {
    case Terminator::none: return "";
    case Terminator::lf: return "\n";
    case Terminator::crlf: return "\r\n";
    case Terminator::cr: return "\r";
  }
  return "";
}

std::string text_of(const Line& line) {
  const std::string text = strip(line);
  return line.text_begin < text.size() ? text.substr(line.text_begin) : std::string();
}

std::string body_of(const Line& line) {
  const std::string text = strip(line);
  return line.body_begin < text.size() ? text.substr(line.body_begin) : std::string();
}

}  // namespace logarithm
