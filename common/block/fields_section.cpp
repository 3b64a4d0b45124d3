#include "common/block/fields_section.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "common/block/bytes_column.h"

namespace logarithm::block {
namespace {

enum Column : std::uint64_t {
  kPairShapes = 1,    // distinct lists of 2 * field + point
  kPairShape = 2,     // per line: 0 for no pairs, else 1 + index
  kEventShapes = 3,   // distinct lists of indices into header.events
  kEventShape = 4,    // per line
  kFirstValues = 16,  // + index into header.fields
};

using Shape = std::vector<std::uint64_t>;

// Lists that repeat: what keys a line has, in which order, is mostly the same line after line.
class ShapeWriter {
 public:
  void add(const Shape& shape) {
    if (shape.empty()) {
      refs_.push_back(0);
      return;
    }
    const auto [found, added] = index_.try_emplace(shape, index_.size() + 1);
    if (added) {
      ByteWriter out(shapes_);
      out.varint(shape.size());
      for (const std::uint64_t item : shape) out.varint(item);
    }
    refs_.push_back(found->second);
  }
  const std::string& shapes() const { return shapes_; }
  const std::vector<std::uint64_t>& refs() const { return refs_; }

 private:
  std::map<Shape, std::uint64_t> index_;
  std::string shapes_;
  std::vector<std::uint64_t> refs_;
};

// The lists again; every item is less than `limit`.
bool read_shapes(ByteReader in, std::uint64_t limit, ItemBudget& budget, std::vector<Shape>& out) {
  while (!in.at_end()) {
    const std::size_t size = in.count(1);
    if (!in.ok() || size == 0 || !budget.items.take(size)) return false;
    Shape& shape = out.emplace_back();
    shape.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      shape.push_back(in.varint());
      if (shape.back() >= limit) return false;
    }
  }
  return in.ok();
}

using FieldKey = std::pair<std::string_view, MetaType>;

MetaType type_of(const MetaPair& pair) { return static_cast<MetaType>(pair.value.index()); }

// One (key, type) while it is being written.
struct FieldColumn {
  FieldStats stats;
  std::vector<std::uint64_t> numbers;  // int64 values, or the bits of doubles
  std::vector<std::string_view> strings;
};

void note(FieldStats& stats, std::int64_t value) {
  if (stats.count == 0) stats.ints = {value, value};
  stats.ints.min = std::min(stats.ints.min, value);
  stats.ints.max = std::max(stats.ints.max, value);
}

void note(FieldStats& stats, double value) {
  if (stats.count == 0) {
    stats.doubles = {std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity()};
  }
  if (std::isnan(value)) {
    stats.has_nan = true;
    return;
  }
  stats.doubles.min = std::min(stats.doubles.min, value);
  stats.doubles.max = std::max(stats.doubles.max, value);
}

void append(FieldColumn& column, const MetaValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    note(column.stats, *number);
    column.numbers.push_back(static_cast<std::uint64_t>(*number));
  } else if (const auto* real = std::get_if<double>(&value)) {
    note(column.stats, *real);
    column.numbers.push_back(std::bit_cast<std::uint64_t>(*real));
  } else {
    column.strings.push_back(std::get<std::string>(value));
  }
  ++column.stats.count;
}

std::string encode_column(const FieldColumn& column, Budget& dictionary) {
  std::string out;
  if (column.stats.type == MetaType::int64) encode_ints(column.numbers, out);
  if (column.stats.type == MetaType::string) encode_bytes(column.strings, {}, dictionary, out);
  if (column.stats.type != MetaType::float64) return out;
  ByteWriter writer(out);
  for (const std::uint64_t bits : column.numbers) writer.u64(bits);
  return out;
}

std::vector<FieldColumn> collect_fields(const std::vector<Line>& lines, ShapeWriter& shapes) {
  std::map<FieldKey, std::size_t> index;
  for (const Line& line : lines) {
    for (const MetaPair& pair : line.meta) index.try_emplace({pair.key, type_of(pair)}, 0);
  }
  std::vector<FieldColumn> columns;
  for (auto& [key, at] : index) {
    at = columns.size();
    FieldColumn& column = columns.emplace_back();
    column.stats.key = key.first;
    column.stats.type = key.second;
  }
  Shape shape;
  for (const Line& line : lines) {
    shape.clear();
    for (const MetaPair& pair : line.meta) {
      const std::size_t at = index.find({pair.key, type_of(pair)})->second;
      shape.push_back(2 * at + (pair.point ? 1 : 0));
      append(columns[at], pair.value);
    }
    shapes.add(shape);
  }
  return columns;
}

bool event_before(const EventMark& a, const EventMark& b) {
  return std::tie(a.rule, a.kind, a.klass) < std::tie(b.rule, b.kind, b.klass);
}

std::vector<EventMark> collect_events(const std::vector<Line>& lines, ShapeWriter& shapes) {
  std::vector<EventMark> events;
  for (const Line& line : lines) {
    events.insert(events.end(), line.events.begin(), line.events.end());
  }
  std::sort(events.begin(), events.end(), event_before);
  events.erase(std::unique(events.begin(), events.end()), events.end());
  Shape shape;
  for (const Line& line : lines) {
    shape.clear();
    for (const EventMark& event : line.events) {
      const auto at = std::lower_bound(events.begin(), events.end(), event, event_before);
      shape.push_back(static_cast<std::uint64_t>(at - events.begin()));
    }
    shapes.add(shape);
  }
  return events;
}

// The values of one (key, type), one after another.
struct FieldCursor {
  bool wanted = true;
  std::uint64_t skipped = 0;  // values that it is behind by
  MetaType type = MetaType::int64;
  IntCursor ints;
  ByteReader doubles;
  BytesCursor strings;

  bool ok() const { return ints.ok() && doubles.ok() && strings.ok(); }
  // Past the values that were skipped.
  void settle() {
    if (skipped == 0) return;
    if (type == MetaType::int64) ints.skip(skipped);
    if (type == MetaType::float64) doubles.bytes(8 * skipped);
    if (type == MetaType::string) strings.skip(skipped);
    skipped = 0;
  }
  MetaValue next() {
    settle();
    if (type == MetaType::int64) return static_cast<std::int64_t>(ints.next());
    if (type == MetaType::float64) return std::bit_cast<double>(doubles.u64());
    return std::string(strings.next());
  }
};

std::vector<FieldCursor> open_fields(const ColumnMap& columns, const BlockHeader& header,
                                     const std::vector<std::string>* keys, ItemBudget& budget) {
  std::vector<FieldCursor> out(header.fields.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].type = header.fields[i].type;
    out[i].wanted = keys == nullptr ||
                    std::find(keys->begin(), keys->end(), header.fields[i].key) != keys->end();
    if (!out[i].wanted) continue;
    const auto column = columns.find(kFirstValues + i);
    if (!column) {
      out[i].doubles.fail();  // a field that is in the header has values
    } else if (out[i].type == MetaType::int64) {
      out[i].ints = IntCursor(*column);
    } else if (out[i].type == MetaType::float64) {
      out[i].doubles = ByteReader(*column);
    } else {
      out[i].strings = BytesCursor(*column, budget.dictionary);
    }
  }
  return out;
}

Status corrupt() { return Error(ErrorCode::corrupt, "block: fields"); }

bool decode_pairs(const Shape& shape, const BlockHeader& header, std::vector<FieldCursor>& fields,
                  ItemBudget& budget, Line& line) {
  if (!budget.items.take(shape.size())) return false;
  const auto is_wanted = [&](std::uint64_t item) { return fields[item / 2].wanted; };
  line.meta.reserve(static_cast<std::size_t>(std::count_if(shape.begin(), shape.end(), is_wanted)));
  for (const std::uint64_t item : shape) {
    FieldCursor& field = fields[item / 2];
    if (!field.wanted) continue;
    const std::string& key = header.fields[item / 2].key;
    MetaPair& pair = line.meta.emplace_back();
    pair.value = field.next();
    pair.point = item % 2 == 1;
    const auto* text = std::get_if<std::string>(&pair.value);
    const std::size_t bytes = key.size() + (text != nullptr ? text->size() : 0);
    if (!field.ok() || !budget.bytes.take(bytes)) return false;
    pair.key = key;
  }
  return true;
}

// Past the values of lines that nobody wants. Long ways are summed up, short ones are gone.
bool skip_pairs(std::uint32_t count, const std::vector<Shape>& shapes, IntCursor& pairs,
                ItemBudget& budget, std::vector<FieldCursor>& fields) {
  constexpr std::uint32_t kShort = 64;
  if (count < kShort) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t shape = pairs.next_below(shapes.size() + 1);
      if (shape == 0) continue;
      const Shape& items = shapes[static_cast<std::size_t>(shape - 1)];
      if (!budget.items.take(items.size())) return false;
      for (const std::uint64_t item : items) ++fields[item / 2].skipped;
    }
    return pairs.ok();
  }
  std::vector<std::uint64_t> lines(shapes.size() + 1);
  for (std::uint32_t i = 0; i < count; ++i) ++lines[pairs.next_below(lines.size())];
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (lines[i + 1] == 0) continue;
    if (!budget.items.take(shapes[i].size())) return false;
    for (const std::uint64_t item : shapes[i]) fields[item / 2].skipped += lines[i + 1];
  }
  return pairs.ok();
}

bool decode_marks(const Shape& shape, const BlockHeader& header, ItemBudget& budget, Line& line) {
  if (!budget.items.take(shape.size())) return false;
  for (const std::uint64_t item : shape) {
    const EventMark& event = header.events[item];
    const std::size_t bytes = event.rule.size() + event.kind.size() + event.klass.size();
    if (!budget.bytes.take(bytes)) return false;
    line.events.push_back(event);
  }
  return true;
}

}  // namespace

std::string encode_fields(const std::vector<Line>& lines, Budget& dictionary, BlockHeader& header) {
  ShapeWriter pair_shapes, event_shapes;
  const std::vector<FieldColumn> fields = collect_fields(lines, pair_shapes);
  header.events = collect_events(lines, event_shapes);
  for (const FieldColumn& field : fields) header.fields.push_back(field.stats);
  std::string out;
  ColumnWriter columns(out);
  columns.add(kPairShapes, pair_shapes.shapes());
  columns.add_ints(kPairShape, pair_shapes.refs());
  columns.add(kEventShapes, event_shapes.shapes());
  columns.add_ints(kEventShape, event_shapes.refs());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    columns.add(kFirstValues + i, encode_column(fields[i], dictionary));
  }
  return out;
}

Status decode_fields(const ColumnMap& columns, const BlockHeader& header, const RowSet& rows,
                     const std::vector<std::string>* keys, ItemBudget& budget,
                     std::vector<Line>& lines) {
  std::vector<Shape> pair_shapes, event_shapes;
  if (!read_shapes(columns.reader(kPairShapes), 2 * header.fields.size(), budget, pair_shapes) ||
      !read_shapes(columns.reader(kEventShapes), header.events.size(), budget, event_shapes)) {
    return corrupt();
  }
  std::vector<FieldCursor> fields = open_fields(columns, header, keys, budget);
  IntCursor pairs = columns.ints(kPairShape);
  IntCursor events = columns.ints(kEventShape);
  std::uint32_t row = 0;
  auto line = lines.begin();
  for (const RowRange& range : rows.ranges()) {
    events.skip(range.first - row);
    if (!skip_pairs(range.first - row, pair_shapes, pairs, budget, fields)) return corrupt();
    for (row = range.first; row < range.end; ++row, ++line) {
      const std::uint64_t shape = pairs.next_below(pair_shapes.size() + 1);
      const std::uint64_t marks = events.next_below(event_shapes.size() + 1);
      if (!pairs.ok() || !events.ok()) return corrupt();
      if (shape > 0 && !decode_pairs(pair_shapes[shape - 1], header, fields, budget, *line)) {
        return corrupt();
      }
      if (marks > 0 && !decode_marks(event_shapes[marks - 1], header, budget, *line)) {
        return corrupt();
      }
    }
  }
  return {};
}

Result<RowSet> rows_with_value(const ColumnMap& columns, const BlockHeader& header,
                               const std::string& key,
                               const std::function<bool(const MetaValue&)>& wanted) {
  const std::vector<std::string> keys = {key};
  ItemBudget budget;
  std::vector<Shape> shapes;
  if (!read_shapes(columns.reader(kPairShapes), 2 * header.fields.size(), budget, shapes)) {
    return corrupt().error();
  }
  std::vector<FieldCursor> fields = open_fields(columns, header, &keys, budget);
  for (Shape& shape : shapes) {
    std::erase_if(shape, [&](std::uint64_t item) { return !fields[item / 2].wanted; });
  }
  IntCursor pairs = columns.ints(kPairShape);
  RowSet out;
  for (std::uint32_t row = 0; row < header.lines; ++row) {
    const std::uint64_t shape = pairs.next_below(shapes.size() + 1);
    if (shape == 0) continue;
    const Shape& items = shapes[static_cast<std::size_t>(shape - 1)];
    if (!budget.items.take(items.size())) return corrupt().error();
    for (const std::uint64_t item : items) {
      FieldCursor& field = fields[item / 2];
      if (wanted(field.next())) out.add(row, row + 1);
      if (!field.ok()) return corrupt().error();
    }
  }
  if (!pairs.ok()) return corrupt().error();
  return out;
}

Result<std::vector<std::uint32_t>> event_rows(const ColumnMap& columns, const BlockHeader& header) {
  std::vector<std::uint32_t> out;
  if (header.events.empty()) return out;
  IntCursor events = columns.ints(kEventShape);
  for (std::uint32_t row = 0; row < header.lines; ++row) {
    const std::uint64_t same = std::min<std::uint64_t>(events.same_ahead(), header.lines - row);
    if (events.next() > 0) {
      out.push_back(row);
    } else if (same > 1) {
      events.skip(same - 1);
      row += static_cast<std::uint32_t>(same - 1);
    }
  }
  if (!events.ok()) return Error(ErrorCode::corrupt, "block: fields");
  return out;
}

}  // namespace logarithm::block
