#include "aggregator/groups/template_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "aggregator/groups/template_words.h"
#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

// Words of language at one place are values when there are so many that they are hardly verbs
// ("starting", "finished") or opposites. Names always are.
constexpr std::size_t kWords = 4;
constexpr std::size_t kMaxWords = 24;    // of longer texts only the first may vary
constexpr std::size_t kMostInPair = 14;  // two places may vary in texts of at most as many words

struct Member {
  TemplateId id = 0;
  TemplateWords split;
};

// Disjoint sets of members of one frame.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) {
    for (std::size_t i = 0; i < size; ++i) parent_[i] = i;
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

// Templates that are equal but for the places of `open`.
using Siblings = std::map<std::string, std::vector<std::size_t>>;

Siblings siblings(const std::vector<Member>& members, const std::vector<std::size_t>& open) {
  Siblings out;
  std::string key;
  for (std::size_t m = 0; m < members.size(); ++m) {
    key.clear();
    const auto& words = members[m].split.words;
    for (std::size_t w = 0; w < words.size(); ++w) {
      if (std::find(open.begin(), open.end(), w) == open.end()) key.append(words[w]);
      key.push_back('\0');
    }
    out[key].push_back(m);
  }
  return out;
}

// Joins those siblings whose words at the open places are values rather than language.
void join_siblings(const std::vector<Member>& members, const std::vector<std::size_t>& open,
                   Sets& sets) {
  for (const auto& [key, same] : siblings(members, open)) {
    if (same.size() < 2) continue;
    std::vector<std::size_t> kept = same;
    for (const std::size_t place : open) {
      std::set<std::string_view> words;
      for (const std::size_t m : same) words.insert(members[m].split.words[place]);
      // The first word says what happened: only names may stand there.
      if (place > 0 && words.size() >= kWords) continue;
      std::erase_if(kept, [&](std::size_t m) { return !is_name(members[m].split.words[place]); });
    }
    for (const std::size_t m : kept) sets.join(m, kept.front());
  }
}

// One frame: same punctuation, slots and number of words.
void join_frame(const std::vector<Member>& members, Sets& sets) {
  const std::size_t words = members.front().split.words.size();
  const std::size_t places = std::min(words, kMaxWords);
  // Texts that are equal in all words differ in the lengths of lists alone.
  for (const auto& [key, same] : siblings(members, {})) {
    for (const std::size_t m : same) sets.join(m, same.front());
  }
  // At least half of the words stay: else nothing says that it is the same event.
  for (std::size_t a = 0; a < places; ++a) {
    if (words >= 2) join_siblings(members, {a}, sets);
    for (std::size_t b = a + 1; b < places && words >= 4 && words <= kMostInPair; ++b) {
      join_siblings(members, {a, b}, sets);
    }
  }
}

}  // namespace

void TemplateGroups::add(TemplateId id, const std::string& text) {
  texts_.try_emplace(id, fold_hexadecimal(text));
}

void TemplateGroups::build() {
  group_.clear();
  members_.clear();
  std::map<std::string, std::vector<Member>> frames;
  for (const auto& [id, text] : texts_) {
    Member member{id, split_template(text)};
    std::string frame = member.split.frame;
    frames[std::move(frame)].push_back(std::move(member));
  }
  for (auto& [frame, members] : frames) {
    Sets sets(members.size());
    if (members.size() > 1) {
      std::sort(members.begin(), members.end(),
                [](const Member& a, const Member& b) { return a.id < b.id; });
      join_frame(members, sets);
    }
    std::map<std::size_t, std::vector<TemplateId>> clusters;
    for (std::size_t m = 0; m < members.size(); ++m) {
      clusters[sets.find(m)].push_back(members[m].id);  // ascending
    }
    for (auto& [root, ids] : clusters) {
      const TemplateId group = ids.front();
      for (const TemplateId id : ids) group_[id] = group;
      members_[group] = std::move(ids);
    }
  }
}

TemplateId TemplateGroups::group_of(TemplateId id) const {
  const auto found = group_.find(id);
  return found == group_.end() ? id : found->second;
}

const std::string* TemplateGroups::template_text(TemplateId id) const {
  const auto known = texts_.find(id);
  return known == texts_.end() ? nullptr : &known->second;
}

std::string TemplateGroups::text_of(TemplateId group) const {
  const auto members = members_.find(group);
  if (members == members_.end()) return {};
  const std::string& first = texts_.at(group);
  if (members->second.size() == 1) return display_template(first);
  const TemplateWords shape = split_template(first);
  std::vector<bool> differs(shape.words.size(), false);
  for (const TemplateId id : members->second) {
    const TemplateWords other = split_template(texts_.at(id));
    for (std::size_t w = 0; w < shape.words.size(); ++w) {
      if (other.words[w] != shape.words[w]) differs[w] = true;
    }
  }
  std::string out;
  std::size_t at = 0;
  for (std::size_t w = 0; w < shape.words.size(); ++w) {
    const auto begin = static_cast<std::size_t>(shape.words[w].data() - first.data());
    out += first.substr(at, begin - at);
    if (differs[w]) {
      out.push_back(kSlot);
    } else {
      out += shape.words[w];
    }
    at = begin + shape.words[w].size();
  }
  out += first.substr(at);
  return display_template(out);
}

}  // namespace logarithm::aggregator
