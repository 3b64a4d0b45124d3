#include "aggregator/store/template_search.h"

#include <doctest/doctest.h>

#include <random>

#include "aggregator/store/schema.h"
#include "aggregator/store/shard.h"
#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

// A shard with body templates of these texts, their ids counting from 1.
template <typename Body>
void with_templates(const std::vector<std::string>& texts, Body body) {
  logarithm::test::TempDir directory;
  WorkerPool worker(1);
  worker.run_and_wait([&](BlockingToken& token) {
    auto shard = Shard::open(token, directory.file("part-0.db"), key_of("run7"), 0, {});
    REQUIRE(shard.ok());
    auto transaction = Transaction::begin(token, (*shard)->database());
    REQUIRE(transaction.ok());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      TemplateDef definition;
      definition.id = i + 1;
      definition.text = texts[i];
      REQUIRE((*shard)->put_template(token, definition).ok());
    }
    REQUIRE(transaction->commit().ok());
    body(token, **shard);
    return 0;
  });
}

std::set<TemplateId> search(BlockingToken& token, Shard& shard, std::string_view literal,
                            bool fold_case) {
  auto found = search_templates(token, shard.database(), literal, fold_case);
  REQUIRE(found.ok());
  return *found;
}

TEST_CASE("case 92: Template search: short terms, other scripts and punctuation find themselves") {
  with_templates({"quick ok", "ok", "修复 ok", "ProcessGroupNCCL.cpp:\x01",
                  "say \"hi\" % _ * : - ( )", "Quick OK"},
                 [](BlockingToken& token, Shard& shard) {
                   using Ids = std::set<TemplateId>;
                   CHECK(search(token, shard, "ok", false) == Ids{1, 2, 3});
                   CHECK(search(token, shard, "quick ok", false) == Ids{1});
                   CHECK(search(token, shard, "quick ok", true) == Ids{1, 6});
                   CHECK(search(token, shard, "修复", false) == Ids{3});
                   CHECK(search(token, shard, "NCCL.cpp:", false) == Ids{4});
                   CHECK(search(token, shard, "say \"hi\" % _ * : - (", false) == Ids{5});
                   CHECK(search(token, shard, "\"", false) == Ids{5});
                   CHECK(search(token, shard, "nowhere", false).empty());
                   CHECK(search(token, shard, "", false).size() == 6);
                 });
}

TEST_CASE("Template search: never misses one, whatever the bytes") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  // NUL, slot, invalid UTF-8, a Kelvin sign's bytes, quotes, both cases.
  constexpr char kBytes[] = "aAbB k\"'*\0\x01\x80\xc3\xa9\xff\xe2\x84\xaa.:_-";
  const std::string alphabet(kBytes, sizeof kBytes - 1);
  auto text_of_length = [&](std::size_t most) {
    std::string text;
    for (std::size_t n = 1 + random() % most; n > 0; --n) {
      text += alphabet[random() % alphabet.size()];
    }
    return text;
  };
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(text_of_length(40));
  with_templates(texts, [&](BlockingToken& token, Shard& shard) {
    for (int i = 0; i < 500; ++i) {
      const std::string& source = texts[random() % texts.size()];
      const std::size_t begin = random() % source.size();
      const std::string literal =
          random() % 4 ? source.substr(begin, 1 + random() % 8) : text_of_length(5);
      for (bool fold_case : {false, true}) {
        std::set<TemplateId> expected;
        for (std::size_t t = 0; t < texts.size(); ++t) {
          const bool contains = fold_case ? contains_folded(texts[t], literal)
                                          : texts[t].find(literal) != std::string::npos;
          if (contains) expected.insert(t + 1);
        }
        REQUIRE(search(token, shard, literal, fold_case) == expected);
      }
    }
  });
}

TEST_CASE("case 93: Template index: passes its integrity check, also after an optimize") {
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back("template number " + std::to_string(i));
  with_templates(texts, [](BlockingToken& token, Shard& shard) {
    static const std::string kCheck =
        "INSERT INTO template_index(template_index) VALUES('integrity-check')";
    CHECK(shard.database().exec(token, kCheck).ok());
    REQUIRE(shard.optimize_index(token).ok());
    CHECK(shard.database().exec(token, kCheck).ok());
    CHECK(search(token, shard, "number 17", false).size() == 11);  // 17, 170 … 179
    CHECK(shard.database().number(token, "SELECT count(*) FROM template_index")->value() == 200);
  });
}

}  // namespace
}  // namespace logarithm::aggregator::test
