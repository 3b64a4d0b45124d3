#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace logarithm {

// Just enough JSON to take a log store's line apart without building it: one object on one line.
// Strings are the escaped bytes between the quotes.
class JsonObject {
 public:
  explicit JsonObject(std::string_view text);

  // The next member: false at the end, or where the text is no JSON (see complete()).
  bool next();
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  bool is_string() const { return is_string_; }
  // All was read: the object ended, and nothing but blanks came after it.
  bool complete() const { return complete_; }

 private:
  void blanks();
  bool read_string(std::string_view& out);
  bool skip_value();

  std::string_view text_;
  std::size_t at_ = 0;
  bool open_ = false, first_ = true, complete_ = false, is_string_ = false;
  std::string_view key_, value_;
};

// Appends the bytes that `escaped` stands for. A lone surrogate becomes U+FFFD; what is no escape
// stays as it is.
void append_unescaped(std::string_view escaped, std::string& out);

}  // namespace logarithm
