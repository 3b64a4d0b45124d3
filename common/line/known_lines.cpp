#include "common/line/known_lines.h"

#include <utility>

#include "common/base/utf8.h"
#include "common/line/ansi.h"

namespace logarithm {

LineMemory& KnownLines::memory() {
  thread_local LineMemory lines;
  return lines;
}

void KnownLines::recall(std::string_view text, const UnwrapMode& mode, std::uint64_t rules_context,
                        const KnownHosts& hosts) {
  known_ = nullptr;
  shape_.worth_it = false;
  if (rules_context == 0 || text.size() > LineReading::kLongest) return;
  const std::uint64_t context = rules_context << 5 | std::uint64_t{mode.layers} << 4 |
                                static_cast<std::uint64_t>(mode.accepted) << 1 |
                                (mode.label ? 1u : 0u);
  known_ = memory().find(text, context, shape_, header_);
  if (known_ != nullptr && known_->knows_host(text, hosts)) known_ = nullptr;
}

void KnownLines::learn(std::string_view text, const UnwrapMode& mode, const RuleSet& rules,
                       std::string_view stream, const KnownHosts& hosts) {
  if (known_ != nullptr || !shape_.worth_it) return;
  auto made = LineReading::make(text, mode, hosts);
  if (made) {
    const auto body = rules.recall(text.substr(made->message_begin()), stream);
    if (!body) return;  // its turn comes
    made->body = *body;
    made->holds_no_secret = !has_escape(text) && !rules.may_hold_secret(text);
    made->valid_utf8 = valid_utf8(text);
  }
  memory().put(shape_, std::move(made));
}

}  // namespace logarithm
