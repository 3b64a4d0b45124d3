#include <cmath>
#include <map>
#include <set>

#include "aggregator/query/field_survey.h"
#include "aggregator/query/site_survey.h"
#include "common/line/template.h"
#include "tests/unit/aggregator/query/fold_fixture.h"

namespace logarithm::aggregator {
namespace {

// What a survey must say of one field and type, by looking at every line.
struct Plain {
  std::uint64_t count = 0, points = 0;
  std::map<std::string, std::uint64_t> values;
  double min = HUGE_VAL, max = -HUGE_VAL;
  bool has_nan = false;

  void add(const std::string& text, double number, bool point = false) {
    ++count;
    if (point) ++points;
    ++values[text];
    if (std::isnan(number)) {
      has_nan = true;
    } else {
      min = std::min(min, number);
      max = std::max(max, number);
    }
  }
};
using PlainFields = std::map<std::pair<std::string, std::string>, Plain>;

void add_plain(PlainFields& fields, const Line& line, const StreamJoin& join) {
  const auto text = [&](const char* name, std::string_view value) {
    if (!value.empty()) fields[{name, "string"}].add(std::string(value), 0);
  };
  const auto number = [&](const char* name, std::optional<std::int64_t> value) {
    if (value) fields[{name, "int"}].add(std::to_string(*value), static_cast<double>(*value));
  };
  fields[{"time", "time"}].add("", static_cast<double>(line.time));
  text("job", *join.job);
  number("attempt", join.attempt);
  number("rank", rank_of(line, join));
  text("host", join.attributes->host);
  text("stream", stream_name(line, join));
  text("severity", to_string(line.severity));
  text("callsite", line.callsite);
  number("iteration", line.iteration);
  text("stream_id", join.stream_text);
  for (const FlagName& flag : kFlagNames) {
    if (line.has(flag.bit)) text("flags", flag.name);
  }
  for (const MetaPair& pair : line.meta) {
    const std::string name = pair.key == "rank" ? "meta.rank" : pair.key;
    if (const auto* integer = std::get_if<std::int64_t>(&pair.value)) {
      fields[{name, "int"}].add(std::to_string(*integer), static_cast<double>(*integer),
                                pair.point);
    } else if (const auto* real = std::get_if<double>(&pair.value)) {
      fields[{name, "float"}].add(print_number(*real), *real, pair.point);
    } else {
      fields[{name, "string"}].add(std::get<std::string>(pair.value), 0);
    }
  }
}

}  // namespace

TEST_CASE("FieldSurvey: types, counts, ranges and values equal a plain pass over all lines") {
  fold_on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
      CAPTURE(seed);
      const test::RandomJob job(seed);
      JobView view(JobKey{"default", "j"}, job.cut(seed));
      const ScanPlan plan = fold_plan(fold_query(seed));
      PlainFields expected;
      std::uint64_t lines = 0;
      each_line(job, view, plan, [&](const Line& line, const StreamJoin& join) {
        ++lines;
        add_plain(expected, line, join);
      });
      FieldSurvey survey;
      fold_all(token, view, plan, survey);
      CHECK(survey.lines() == lines);
      std::set<std::pair<std::string, std::string>> seen;
      for (const FieldFacts& field : survey.finish()) {
        for (const ValueFacts& facts : field.types) {
          const std::pair<std::string, std::string> name(field.name, to_string(facts.type));
          CAPTURE(name.first);
          CAPTURE(name.second);
          if (name.first == "id" || name.first == "text" || name.first == "template") {
            CHECK(facts.count == lines);
            continue;
          }
          REQUIRE(expected.contains(name));
          seen.insert(name);
          const Plain& plain = expected[name];
          CHECK(facts.count == plain.count);
          CHECK(facts.points == plain.points);
          CHECK(facts.has_nan == plain.has_nan);
          if (facts.integers) {
            CHECK(static_cast<double>(facts.integers->min) == plain.min);
            CHECK(static_cast<double>(facts.integers->max) == plain.max);
          }
          if (facts.type == ValueType::real)
            CHECK(facts.reals.has_value() == (plain.min <= plain.max));
          if (facts.reals) {
            CHECK(facts.reals->min == plain.min);
            CHECK(facts.reals->max == plain.max);
          }
          if (!facts.counted) continue;
          CHECK(facts.values.exact());
          CHECK(facts.values.distinct() == plain.values.size());
          for (const auto& value : facts.values.top(1000)) {
            CHECK(plain.values.at(value.text) == value.count);
          }
        }
      }
      CHECK(seen.size() == expected.size());
    }
  });
}

TEST_CASE("ValueSample: over its cap it keeps the same whatever the order, and estimates") {
  std::vector<std::string> values;
  for (int i = 0; i < 20'000; ++i) values.push_back("value " + std::to_string(i % 10'000));
  const unsigned seed = 11;
  std::mt19937 random(seed);
  std::vector<std::pair<std::uint64_t, bool>> answers;
  for (int round = 0; round < 3; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    ValueSample sample;
    for (const std::string& value : values) sample.add(value, round == 2 ? 4000 : 1000);
    sample.shrink(1000);
    CHECK(sample.kept() == 1000);
    CHECK(!sample.exact());
    CHECK(sample.top(5).empty());
    answers.emplace_back(sample.distinct(), sample.exact());
  }
  CHECK(answers[0] == answers[1]);
  CHECK(answers[0] == answers[2]);
  CHECK(answers[0].first > 9000);
  CHECK(answers[0].first < 11'000);
}

TEST_CASE("ValueSample: the most frequent first, long values cut and told apart") {
  ValueSample sample;
  const std::string common(300, 'x');
  sample.add(common + "a", 10, 2);
  sample.add(common + "b", 10, 1);
  sample.add("short", 10, 5);
  const auto top = sample.top(10);
  REQUIRE(top.size() == 3);
  CHECK(top[0].text == "short");
  CHECK(top[1].count == 2);
  CHECK(top[1].cut);
  CHECK(top[1].text.size() == ValueSample::kShownBytes);
  CHECK(sample.top(1).size() == 1);
}

TEST_CASE("FieldSurvey: case 78, many distinct values stay within the bound") {
  FieldSurvey survey;
  StreamAttributes attributes;
  attributes.name = "stdout";
  const std::string job = "j";
  StreamJoin join;
  join.attributes = &attributes;
  join.job = &job;
  Line line;
  constexpr std::uint64_t kLines = 60'000;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    line.meta.clear();
    line.meta.push_back({"a", static_cast<std::int64_t>(i), false});
    line.meta.push_back({"key " + std::to_string(i % 20'000), std::string("v"), false});
    REQUIRE(survey.take(line, join, BlockRef()).ok());
  }
  const auto fields = survey.finish();
  std::size_t keys = 0;
  for (const FieldFacts& field : fields) {
    keys += field.is_metadata ? 1u : 0u;
    if (field.name != "a") continue;
    CHECK(field.count() == kLines);
    CHECK(!field.types[0].values.exact());
    CHECK(field.types[0].integers->max == kLines - 1);
    CHECK(field.types[0].values.distinct() > kLines * 9 / 10);
    CHECK(field.types[0].values.distinct() < kLines * 11 / 10);
  }
  CHECK(keys == FieldSurvey::kMaxKeys);
  CHECK(survey.pairs_left_out() > 0);
}

TEST_CASE("SiteSurvey: lines, bytes, ranks and iterations equal a plain pass over all lines") {
  struct PlainSite {
    LineSum sum;
    std::map<std::optional<std::int32_t>, LineSum> ranks;
    std::optional<std::int64_t> first, last;
  };
  fold_on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
      CAPTURE(seed);
      const test::RandomJob job(seed);
      JobView view(JobKey{"default", "j"}, job.cut(seed));
      const ScanPlan plan = fold_plan(fold_query(seed));
      std::map<std::pair<std::string, TemplateId>, PlainSite> expected;
      LineSum total;
      each_line(job, view, plan, [&](const Line& line, const StreamJoin& join) {
        PlainSite& site = expected[{line.callsite, line.callsite.empty() ? line.template_id : 0}];
        site.sum.add(line.length);
        site.ranks[rank_of(line, join)].add(line.length);
        total.add(line.length);
        if (!line.iteration) return;
        site.first = std::min(site.first.value_or(*line.iteration), *line.iteration);
        site.last = std::max(site.last.value_or(*line.iteration), *line.iteration);
      });
      SiteSurvey survey;
      fold_all(token, view, plan, survey);
      auto answer = survey.finish(1000);
      CHECK(answer.total.lines == total.lines);
      CHECK(answer.total.bytes == total.bytes);
      CHECK(answer.sites.size() == expected.size());
      std::uint64_t before = UINT64_MAX;
      for (Site& site : answer.sites) {
        const PlainSite& plain = expected.at({site.callsite, site.template_id});
        CHECK(site.sum.lines == plain.sum.lines);
        CHECK(site.sum.bytes == plain.sum.bytes);
        CHECK(site.sum.bytes <= before);
        before = site.sum.bytes;
        REQUIRE(site.ranks.size() == plain.ranks.size());
        for (const auto& [rank, sum] : site.ranks) {
          CHECK(plain.ranks.at(rank).lines == sum.lines);
          CHECK(plain.ranks.at(rank).bytes == sum.bytes);
        }
        CHECK(site.iteration.has_value() == plain.first.has_value());
        if (site.iteration) {
          CHECK(site.iteration->min == *plain.first);
          CHECK(site.iteration->max == *plain.last);
        }
        REQUIRE(SiteSurvey::name(token, view, site).ok());
        if (site.callsite.empty() &&
            site.template_id == template_of("loaded batch 17 of /data/x")) {
          // The template, or the first line where no block stores it as one.
          CHECK(site.text.starts_with("loaded batch "));
        }
      }
      const auto first = survey.finish(1);
      CHECK(first.sites.size() == std::min<std::size_t>(1, expected.size()));
      CHECK(first.other_sites + first.sites.size() == expected.size());
    }
  });
}

}  // namespace logarithm::aggregator
