#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/block/block_limits.h"
#include "common/block/block_reader.h"
#include "common/block/columns.h"

// Section TEXT: raw bytes and positions. README, "TEXT".
namespace logarithm::block {

// Gives the section, sets header.stored_templates, has_plain_text and filter (body_templates must
// be set), and `templates` to the definitions that decoding needs (none when `plain`).
std::string encode_text(const std::vector<Line>& lines, bool plain, Budget& dictionary,
                        BlockHeader& header, std::vector<TemplateDef>& templates);

// Sets raw and positions of `lines`, which has an element for each of `rows`. `facts` are the
// columns of section FACTS.
Status decode_text(const ColumnMap& columns, const ColumnMap& facts, const BlockHeader& header,
                   const TemplateLookup& lookup, const RowSet& rows, ItemBudget& budget,
                   std::vector<Line>& lines);

// What is looked for in the texts of lines, and what is known of it.
struct TextMatch {
  std::string_view literal;
  // Lines that are made of templates alone can hold it in their bodies only.
  bool in_body = false;
  // Of every line, raw without its transport wrappers is the text. Otherwise all of raw counts, and
  // lines that are stored whole are found in any case.
  bool raw_is_text = false;
};
// Those of `rows` that contain it. No line is made: one buffer serves all.
Result<RowSet> rows_containing(const ColumnMap& columns, const ColumnMap& facts,
                               const BlockHeader& header, const TemplateLookup& lookup,
                               const RowSet& rows, const TextMatch& match);

enum TextColumn : std::uint64_t {
  kBodyMode = 1,         // per line, a BodyMode
  kPrefixRef = 2,        // per line that is not whole: 0 plain, else 1 + index of a stored template
  kHeaderRef = 3,        // the same
  kTextBegin = 4,        // per line
  kPrefixLength = 5,     // of plain prefixes
  kHeaderLength = 6,     // of plain headers
  kBodyLength = 7,       // of plain bodies and whole lines
  kWholeHeader = 8,      // header_begin of whole lines
  kWholeBody = 9,        // body_begin of whole lines
  kPlainBytes = 10,      // all plain pieces in line order
  kFirstVariables = 32,  // + index of the stored template: a sized bytes column per slot
};

enum class BodyMode : std::uint8_t {
  plain = 0,
  whole = 1,      // the raw bytes uncut: ANSI, encoded transport, redraws
  templated = 2,  // by the line's own template
};

}  // namespace logarithm::block
