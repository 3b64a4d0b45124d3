#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// True when `raw` holds an escape byte, so that strip_ansi() may differ from it.
bool has_escape(std::string_view raw);

// `raw` without terminal escape sequences: CSI (`ESC [ … final`), OSC (`ESC ] … BEL` or `ESC \`)
// and the two- and three-byte ones. A sequence that is cut off or malformed stays as it is.
std::string strip_ansi(std::string_view raw);

// The same, with the way back: which positions of the stripped text came after which cut.
class StrippedText {
 public:
  explicit StrippedText(std::string_view raw);

  const std::string& text() const { return text_; }
  // Position in `raw` of the byte at `position` of text(); raw's size for text().size().
  std::size_t to_raw(std::size_t position) const;

 private:
  struct Cut {
    std::size_t at;       // in text(): bytes from here on are shifted
    std::size_t removed;  // bytes of raw left out up to here
  };
  std::string text_;
  std::vector<Cut> cuts_;
  std::size_t raw_size_;
};

}  // namespace logarithm
