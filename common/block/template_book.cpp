#include "common/block/template_book.h"

#include <algorithm>

#include "common/block/block_limits.h"

namespace logarithm::block {
namespace {

// Below this a template's text costs more than it saves, and random words would grow.
constexpr std::uint32_t kWorthStoring = 3;

// Whether literals and variables make up the part again, with no empty variable: readers refuse
// those, so that every step of decoding yields a byte.
bool covers(const MaskedBody& masked, std::string_view bytes) {
  std::size_t variables = 0;
  for (const Span& span : masked.variables) {
    if (span.length == 0) return false;
    variables += span.length;
  }
  const auto slots =
      static_cast<std::size_t>(std::count(masked.text.begin(), masked.text.end(), kSlot));
  return slots == masked.variables.size() && masked.text.size() - slots + variables == bytes.size();
}

}  // namespace

Part TemplateBook::add(std::string_view bytes, TemplateKind kind, const TemplateId* expected) {
  Part part;
  part.bytes = bytes;
  if (bytes.empty()) return part;
  mask_body(bytes, masked_);
  const TemplateId id = fingerprint(masked_.text);
  if ((expected != nullptr && *expected != id) || !covers(masked_, bytes)) return part;
  part.spans = static_cast<std::uint32_t>(masked_.variables.size());
  part.entry = intern(id, kind, masked_.text, part.spans);
  if (part.entry == Part::kPlain) return part;
  part.first_span = static_cast<std::uint32_t>(spans_.size());
  spans_.insert(spans_.end(), masked_.variables.begin(), masked_.variables.end());
  return part;
}

std::uint32_t TemplateBook::intern(TemplateId id, TemplateKind kind, std::string_view text,
                                   std::uint32_t slots) {
  const auto [found, added] = index_.try_emplace(id, static_cast<std::uint32_t>(entries_.size()));
  if (added) {
    Entry& entry = entries_.emplace_back();
    entry.definition = {id, kind, kMaskVersion, std::string(text)};
    entry.slots = slots;
  }
  Entry& entry = entries_[found->second];
  if (entry.definition.text != text) return Part::kPlain;  // one fingerprint, two texts
  entry.definition.kind = std::min(entry.definition.kind, kind);
  ++entry.uses;
  return found->second;
}

std::vector<TemplateDef> TemplateBook::choose() {
  std::vector<Entry*> chosen;
  Budget slots(kMaxSlotColumns);
  for (Entry& entry : entries_) {
    entry.is_stored = entry.uses >= kWorthStoring && slots.take(entry.slots);
    if (entry.is_stored) chosen.push_back(&entry);
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Entry* a, const Entry* b) { return a->definition.id < b->definition.id; });
  std::vector<TemplateDef> out;
  out.reserve(chosen.size());
  for (Entry* entry : chosen) {
    entry->stored = static_cast<std::uint32_t>(out.size());
    out.push_back(entry->definition);
  }
  return out;
}

}  // namespace logarithm::block
