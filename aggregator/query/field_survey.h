#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/query/fold.h"
#include "aggregator/query/value_sample.h"

namespace logarithm::aggregator {

enum class ValueType : std::uint8_t { integer, real, string, time };
std::string_view to_string(ValueType type);

// What is known of one field's values of one type.
struct ValueFacts {
  ValueType type = ValueType::string;
  std::uint64_t count = 0;
  std::uint64_t points = 0;                      // of these, telemetry points
  std::optional<MinMax<std::int64_t>> integers;  // also times
  std::optional<MinMax<double>> reals;           // NaN left aside; absent when there is only NaN
  bool has_nan = false;
  bool counted = true;  // `values` says how many distinct ones there are
  ValueSample values;
};

struct FieldFacts {
  std::string name;  // as queries name it
  bool is_metadata = false;
  std::vector<ValueFacts> types;  // those that occur, by type
  std::uint64_t count() const;
};

// Which fields lines have: columns and metadata keys, with their types and values.
class FieldSurvey final : public LineSink {
 public:
  static constexpr std::size_t kMaxKeys = 10'000;     // metadata keys; more are only counted
  static constexpr std::size_t kMaxValues = 10'000;   // distinct values held of one field
  static constexpr std::size_t kMaxSample = 500'000;  // and of all fields together

  BlockPart parts() const override { return BlockPart::facts | BlockPart::fields; }
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override;

  // Columns in the order of predicate.h, then metadata by key. Once, at the end.
  std::vector<FieldFacts> finish();
  std::uint64_t lines() const { return lines_; }
  // Pairs of keys beyond kMaxKeys.
  std::uint64_t pairs_left_out() const { return pairs_left_out_; }

 private:
  using Types = std::array<std::optional<ValueFacts>, 4>;

  void add_integer(Types& types, std::int64_t value, std::uint64_t count = 1);
  void add_real(Types& types, double value);
  void add_text(Types& types, std::string_view text, std::uint64_t count = 1);
  void add_sample(ValueFacts& facts, std::string_view text, std::uint64_t count);
  void take_pair(const MetaPair& pair);
  void finish_joins();
  Types& column(std::string_view name) { return columns_[std::string(name)]; }

  std::size_t cap_ = kMaxValues;
  std::size_t kept_ = 0;  // about: values held by all samples
  std::uint64_t lines_ = 0, pairs_left_out_ = 0;
  std::map<std::string, Types, std::less<>> columns_, metadata_;
  // Resolved at the end: few values, each on many lines.
  std::map<const StreamJoin*, std::uint64_t> joins_;
  std::map<std::int32_t, std::uint64_t> ranks_;
  std::map<std::string, std::uint64_t, std::less<>> streams_;
  std::array<std::uint64_t, 8> severities_{};
  std::array<std::uint64_t, 32> flags_{};
  std::optional<MinMax<UnixNanos>> time_;
};

}  // namespace logarithm::aggregator
