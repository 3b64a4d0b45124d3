#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/block/block_header.h"
#include "common/line/template.h"

// The templates of the lines of one block, and which of them are worth storing.
namespace logarithm::block {

// One of a line's three parts: prefix, header, body.
struct Part {
  static constexpr std::uint32_t kPlain = ~std::uint32_t{0};

  std::string_view bytes;        // of the line's raw
  std::uint32_t entry = kPlain;  // index into TemplateBook::entries()
  std::uint32_t first_span = 0;  // its variables: [first_span, first_span + spans) of
  std::uint32_t spans = 0;       // TemplateBook::spans(), relative to the part
};

class TemplateBook {
 public:
  struct Entry {
    TemplateDef definition;
    std::uint32_t uses = 0;
    std::uint32_t slots = 0;
    std::uint32_t stored = 0;  // index among stored templates, valid when is_stored
    bool is_stored = false;
  };

  // Masks `bytes` and notes the use. The part is plain when the mask gives nothing to rely on, or
  // when it is a body whose template is not `expected` (of an older mask, say).
  Part add(std::string_view bytes, TemplateKind kind, const TemplateId* expected);

  // Chooses what to store: templates that repeat, as far as readers allow. Returns their
  // definitions, ids ascending.
  std::vector<TemplateDef> choose();

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Span>& spans() const { return spans_; }
  bool is_stored(const Part& part) const {
    return part.entry != Part::kPlain && entries_[part.entry].is_stored;
  }

 private:
  std::uint32_t intern(TemplateId id, TemplateKind kind, std::string_view text,
                       std::uint32_t slots);

  std::unordered_map<TemplateId, std::uint32_t> index_;
  std::vector<Entry> entries_;
  std::vector<Span> spans_;
  MaskedBody masked_;
};

}  // namespace logarithm::block
