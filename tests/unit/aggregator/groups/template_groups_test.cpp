#include "aggregator/groups/template_groups.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "aggregator/groups/template_words.h"
#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

std::string masked(const std::string& body) {
  MaskedBody out;
  mask_body(body, out);
  return out.text;
}

// Lines of one event, told by what a person would say; {a|b|c} is one of its words.
struct Event {
  const char* text;
};
const Event kEvents[] = {
    {"Starting training loop for {small|base|large|xl|tiny|giant} model with # layers"},
    {"Finished training loop for {small|base|large|xl|tiny|giant} model with # layers"},
    {"iteration #/# | consumed samples: # | elapsed time per iteration (ms): #.# | lm loss: "
     "#.#E+00 |"},
    {"step # loss #.# grad_norm #.# lr #.#"},
    {"opened bucket {alpha|beta|gamma|delta|kappa} in # ms"},
    {"Initializing process group backend nccl world size # rank #"},
    {"Loading checkpoint from /data/ckpt/iter_#"},
    {"Saving checkpoint to /data/ckpt/iter_#"},
    {"successfully saved checkpoint at iteration # to /data/ckpt"},
    {"building {train|validation|test|holdout} dataset index"},
    {"parameter layers.#.{attention.wq|attention.wk|mlp.w1|mlp.w2} has norm #.#"},
    {"dataloader worker {ash|birch|cedar|elm|fir|oak} fetched # samples from shard #"},
    {"host {node-a|node-b|node-c|node-d|node-e} joined with # gpus"},
    {"NCCL INFO Channel #/# : #[#] -> #[#] via P2P/IPC"},
    {"NCCL INFO Connected all rings"},
    {"NCCL INFO Connected all trees"},
    {"Traceback (most recent call last):"},
    {"RuntimeError: CUDA out of memory. Tried to allocate # GiB"},
    {"ValueError: loss is nan at iteration #"},
    {"ranks [#, #, #] are slow"},
    {"ranks [#, #] are slow"},
    {"gradient clipping is enabled"},
    {"gradient clipping is disabled"},
    {"warmup finished after # steps"},
    {"user {alice|bob|carol|dave} submitted job # to queue {gpu|cpu|debug|long}"},
    {"[Rank #] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=#, OpType=ALLREDUCE)"},
    {"memory allocated #.# GB reserved #.# GB"},
    {"evaluating on {wikitext|lambada|hellaswag|piqa|arc} : accuracy #.#"},
};
// Which events a person calls the same: lists of another length.
std::size_t truth(std::size_t event) {
  return std::string(kEvents[event].text) == "ranks [#, #] are slow" ? event - 1 : event;
}

std::string make(const char* pattern, std::mt19937& random) {
  std::string out;
  for (const char* c = pattern; *c != '\0'; ++c) {
    if (*c == '#') {
      out += std::to_string(random() % 900 + 1);
    } else if (*c == '{') {
      std::vector<std::string> choices(1);
      for (++c; *c != '}'; ++c) {
        if (*c == '|') {
          choices.emplace_back();
        } else {
          choices.back().push_back(*c);
        }
      }
      out += choices[random() % choices.size()];
    } else {
      out.push_back(*c);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("TemplateGroups: labelled lines of training logs fall into their groups, at least 98 %") {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    TemplateGroups groups;
    std::vector<std::pair<std::size_t, TemplateId>> lines;  // (truth, template)
    for (int i = 0; i < 4000; ++i) {
      const std::size_t event = random() % std::size(kEvents);
      const std::string text = masked(make(kEvents[event].text, random));
      lines.emplace_back(truth(event), fingerprint(text));
      groups.add(fingerprint(text), text);
    }
    groups.build();
    // A line is right when its group holds exactly the lines of its event.
    std::map<TemplateId, std::set<std::size_t>> events_of;
    std::map<std::size_t, std::set<TemplateId>> groups_of;
    for (const auto& [event, id] : lines) {
      events_of[groups.group_of(id)].insert(event);
      groups_of[event].insert(groups.group_of(id));
    }
    std::size_t right = 0;
    for (const auto& [event, id] : lines) {
      const bool pure = events_of[groups.group_of(id)].size() == 1;
      if (pure && groups_of[event].size() == 1) ++right;
      if (!pure || groups_of[event].size() != 1) INFO(kEvents[event].text);
    }
    const double accuracy = static_cast<double>(right) / static_cast<double>(lines.size());
    CHECK(accuracy >= 0.98);
  }
}

TEST_CASE("TemplateGroups: the order in which templates come changes nothing") {
  std::vector<std::string> texts;
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    texts.push_back(masked(make(kEvents[random() % std::size(kEvents)].text, random)));
  }
  std::map<TemplateId, TemplateId> before;
  for (int turn = 0; turn < 5; ++turn) {
    TemplateGroups groups;
    for (const std::string& text : texts) groups.add(fingerprint(text), text);
    groups.build();
    std::map<TemplateId, TemplateId> now;
    for (const std::string& text : texts) {
      const TemplateId group = groups.group_of(fingerprint(text));
      now[fingerprint(text)] = group;
      CHECK(group <= fingerprint(text));
    }
    if (turn > 0) CHECK(now == before);
    before = now;
    std::shuffle(texts.begin(), texts.end(), random);
  }
}

TEST_CASE("TemplateGroups: more templates join groups and never split one") {
  std::mt19937 random(11);
  TemplateGroups small, large;
  std::vector<TemplateId> ids;
  for (int i = 0; i < 600; ++i) {
    const std::string text = masked(make(kEvents[random() % std::size(kEvents)].text, random));
    if (i < 200) {
      small.add(fingerprint(text), text);
      ids.push_back(fingerprint(text));
    }
    large.add(fingerprint(text), text);
  }
  small.build();
  large.build();
  for (const TemplateId a : ids) {
    for (const TemplateId b : ids) {
      if (small.group_of(a) == small.group_of(b)) CHECK(large.group_of(a) == large.group_of(b));
    }
  }
}

TEST_CASE("TemplateGroups: a group's text shows where its templates differ") {
  TemplateGroups groups;
  TemplateId id = 0;
  for (const char* name : {"alpha", "beta", "gamma", "delta"}) {
    const std::string text = masked(std::string("opened bucket ") + name + " in 12 ms");
    id = fingerprint(text);
    groups.add(id, text);
  }
  groups.build();
  CHECK(groups.groups() == 1);
  CHECK(groups.text_of(groups.group_of(id)) == "opened bucket <*> in <*> ms");
  CHECK(groups.group_of(12345) == 12345);
  CHECK(groups.text_of(12345).empty());
}

TEST_CASE("TemplateGroups: hexadecimal numbers are numbers, with letters or without") {
  const std::string bus = "comm init rank 3 busId ", end = " - Init COMPLETE";
  TemplateGroups groups;
  std::set<TemplateId> ids;
  for (const char* number : {"29000", "db000", "4e000", "1b000", "AC3", "e1f2"}) {
    const std::string text = masked(bus + number + end);
    ids.insert(fingerprint(text));
    groups.add(fingerprint(text), text);
  }
  const std::string other = masked(bus + "unknown" + end), first = masked("c10d joined");
  groups.add(fingerprint(other), other);
  groups.add(fingerprint(first), first);
  groups.build();

  REQUIRE(ids.size() > 2);
  std::set<TemplateId> found;
  for (const TemplateId id : ids) found.insert(groups.group_of(id));
  CHECK(found.size() == 1);
  CHECK(groups.text_of(*found.begin()) == "comm init rank <*> busId <*> - Init COMPLETE");
  CHECK(groups.group_of(fingerprint(other)) == fingerprint(other));
  CHECK(groups.text_of(fingerprint(first)) == "c<*>d joined");  // says what happened
}

TEST_CASE("split_template: words, frames and lists") {
  const std::string text = masked("host003 reads layers.12.attn from [0, 1, 2, 3] at 5 ms");
  const TemplateWords split = split_template(text);
  const std::vector<std::string> words(split.words.begin(), split.words.end());
  const std::string host = std::string("host") + kSlot,
                    layer = std::string("layers.") + kSlot + ".attn";
  CHECK(words == std::vector<std::string>{host, "reads", layer, "from", "at", "ms"});
  CHECK(is_name(host));
  CHECK(is_name(layer));
  CHECK_FALSE(is_name("all-reduce"));
  CHECK(split.frame == split_template(masked("n1 sees a.1.b in [7, 8] of 5 ms")).frame);
  CHECK(split_template(masked("step:  7  loss: 2")).frame ==
        split_template(masked("step: 17  loss: 2")).frame);
  CHECK(split_template("").words.empty());
  CHECK(split_template(std::string(3, kSlot)).words.empty());
}

}  // namespace logarithm::aggregator
