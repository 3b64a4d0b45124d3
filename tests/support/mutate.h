#pragma once

#include <algorithm>
#include <random>
#include <string>

namespace logarithm::test {

// Changes 1 to 4 things in `bytes`: flipped bits, other bytes, extreme bytes, pieces cut out,
// doubled or appended.
inline void mutate(std::string& bytes, std::mt19937_64& random) {
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    const std::size_t length = std::min(bytes.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(below(256)); break;
      case 2: bytes[at] = "\x00\xFF\x7F\x80"[below(4)]; break;
      case 3: bytes.erase(at, length); break;
      case 4: bytes.insert(at, bytes.substr(at, length)); break;
      case 5: bytes.append(1 + below(8), static_cast<char>(below(256))); break;
      case 6: std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\xFF'); break;
    }
  }
}

}  // namespace logarithm::test
