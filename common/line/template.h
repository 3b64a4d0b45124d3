#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/types.h"

namespace logarithm {

// The lexical mask: numbers, hex, UUIDs, paths and quoted strings become slots. Versioned: any
// change of the rules is a new version, stored beside every fingerprint. See common/line/README.md.
inline constexpr std::uint8_t kMaskVersion = 1;
// A slot in a template's text. The byte itself in a body is always masked, so texts are
// unambiguous.
inline constexpr char kSlot = '\x01';

// Where a variable lies in the body.
struct Span {
  std::uint32_t begin = 0, length = 0;
};

// `text` with kSlot for every span; spans ascending, disjoint. Putting the spans' bytes back into
// the slots gives the body again, for any bytes.
struct MaskedBody {
  std::string text;
  std::vector<Span> variables;
  // A slot is a path or a quoted string: any text may lie in it. All others are numbers or hex.
  bool holds_text = false;
};

// Pure function of `body`; linear in its size. `out` is reused.
void mask_body(std::string_view body, MaskedBody& out);

// The same without the spans: `out.variables` stays empty.
void mask_text(std::string_view body, MaskedBody& out);

// Fingerprint of a template's text (a masked body). Never 0.
TemplateId fingerprint(std::string_view template_text);

// The template of a body: fingerprint(mask(body).text).
TemplateId template_of(std::string_view body);

// For people: slots as "<*>".
std::string display_template(std::string_view template_text);

// What FTS5 indexes: NUL as U+2400, slots as a separator that no query contains.
std::string searchable_template(std::string_view template_text);

}  // namespace logarithm
