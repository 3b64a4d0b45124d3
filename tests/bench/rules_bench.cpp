#include <benchmark/benchmark.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "common/line/stream_parser.h"
#include "common/line/template.h"
#include "common/rules/rule_loader.h"
#include "common/rules/rule_set.h"
#include "tests/bench/corpus.h"
#include "tests/support/reference_mask.h"

// What a line costs from bytes to fields, and the same rules run by RE2 alone. All in one process,
// so that the ratios hold on any machine: compare items per second of CPU.
namespace logarithm {
namespace {

constexpr std::size_t kLines = 50'000;
constexpr std::size_t kSlice = 8u << 10;  // as the agent feeds: see stream_writer.cpp
constexpr UnixNanos kObserved = 1'772'668'800'000'000'000;

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}
const std::string& bytes() {
  static const std::string made = joined(bench::mixed_lines(kLines, 7));
  return made;
}
const std::string& widened_bytes() {
  static const std::string made = joined(bench::widened_lines(kLines, 7));
  return made;
}
// A file of lines to read too, if LGR_CORPUS names one (see tests/tools/gen_corpus.cpp).
const std::string& file_bytes() {
  static const std::string made = [] {
    const char* name = std::getenv("LGR_CORPUS");
    if (name == nullptr) return std::string();
    std::ifstream in(name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {}).substr(0, 64u << 20);
  }();
  return made;
}

std::shared_ptr<const RuleSet> build(const std::vector<RuleSet::Source>& sources) {
  std::vector<RuleProblem> problems;
  return RuleSet::build(sources, problems);
}
const RuleSet& shipped() {
  static const auto rules = build(RuleSet::shipped());
  return *rules;
}
const RuleSet& no_rules() {
  static const auto rules = build({});
  return *rules;
}

// The bodies, as the parser cuts them.
const std::vector<std::string>& bodies() {
  static const std::vector<std::string> made = [] {
    std::vector<std::string> out;
    LongLinePool pool;
    auto parser = StreamParser::make({}, no_rules(), pool, 0, "");
    ParsedLines parsed;
    (*parser)->feed(bytes(), kObserved, parsed);
    for (const Line& line : parsed.lines) out.push_back(body_of(line));
    return out;
  }();
  return made;
}

void parse(benchmark::State& state, const RuleSet& rules, const std::string& all) {
  LongLinePool pool;
  ParsedLines parsed;
  std::size_t count = 0;
  for (auto _ : state) {
    auto parser = StreamParser::make({}, rules, pool, 0, "");
    for (std::size_t at = 0; at < all.size(); at += kSlice) {
      (*parser)->feed(std::string_view(all).substr(at, kSlice), kObserved, parsed);
      count += parsed.lines.size();
      parsed.recycle();
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
}

void parser_all(benchmark::State& state) { parse(state, shipped(), bytes()); }
void parser_widened(benchmark::State& state) { parse(state, shipped(), widened_bytes()); }
void parser_file(benchmark::State& state) {
  if (file_bytes().empty()) return state.SkipWithError("LGR_CORPUS names no file");
  parse(state, shipped(), file_bytes());
}
void parser_without_rules(benchmark::State& state) { parse(state, no_rules(), bytes()); }

template <typename Work>
void each_body(benchmark::State& state, Work work) {
  const auto& all = bodies();
  for (auto _ : state) {
    for (const auto& body : all) work(body);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
}

void mask(benchmark::State& state) {
  MaskedBody masked;
  each_body(state, [&](const std::string& body) {
    mask_body(body, masked);
    benchmark::DoNotOptimize(fingerprint(masked.text));
  });
}
void mask_reference(benchmark::State& state) {
  MaskedBody masked;
  each_body(state, [&](const std::string& body) {
    test::reference::mask_body(body, masked);
    benchmark::DoNotOptimize(fingerprint(masked.text));
  });
}
void rules_by_template(benchmark::State& state) {
  std::vector<std::pair<MaskedBody, TemplateId>> masks;
  for (const auto& body : bodies()) {
    MaskedBody masked;
    mask_body(body, masked);
    const TemplateId id = fingerprint(masked.text);
    masks.emplace_back(std::move(masked), id);
  }
  Extraction found;
  std::size_t i = 0;
  each_body(state, [&](const std::string& body) {
    const auto& [masked, id] = masks[i++ % masks.size()];
    shipped().apply(body, masked, id, "stdout", found);
    benchmark::DoNotOptimize(found);
  });
}
void rules_by_shape(benchmark::State& state) {
  Extraction found;
  each_body(state, [&](const std::string& body) {
    benchmark::DoNotOptimize(shipped().read(body, "stdout", found));
    benchmark::DoNotOptimize(found);
  });
}
void rules_by_scan(benchmark::State& state) {
  Extraction found;
  each_body(state, [&](const std::string& body) {
    shipped().apply(body, "stdout", found);
    benchmark::DoNotOptimize(found);
  });
}
void secrets(benchmark::State& state) {
  std::vector<RuleSet::Secret> found;
  each_body(state, [&](const std::string& body) {
    shipped().find_secrets(body, found);
    benchmark::DoNotOptimize(found);
  });
}

// The shipped patterns in RE2 alone: what a program without any of the above would do.
struct Re2Rules {
  std::vector<std::unique_ptr<RE2>> patterns;
  RE2::Set set{options(), RE2::UNANCHORED};

  static RE2::Options options() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    options.set_max_mem(64 << 20);
    return options;
  }
  Re2Rules() {
    std::vector<RuleProblem> problems;
    for (const auto& source : RuleSet::shipped()) {
      for (const Rule& rule : load_rules(source, problems)) {
        if (!rule.match || rule.over == Rule::Over::record) continue;
        patterns.push_back(std::make_unique<RE2>(rule.match->pattern(), options()));
        set.Add(rule.match->pattern(), nullptr);
      }
    }
    set.Compile();
  }
  void capture(std::size_t number, const std::string& body) {
    const RE2& re = *patterns[number];
    groups.resize(static_cast<std::size_t>(re.NumberOfCapturingGroups()) + 1);
    benchmark::DoNotOptimize(re.Match(body, 0, body.size(), RE2::UNANCHORED, groups.data(),
                                      static_cast<int>(groups.size())));
  }
  std::vector<re2::StringPiece> groups;
};

void re2_rule_by_rule(benchmark::State& state) {
  static Re2Rules rules;
  each_body(state, [&](const std::string& body) {
    for (std::size_t i = 0; i < rules.patterns.size(); ++i) {
      if (RE2::PartialMatch(body, *rules.patterns[i])) rules.capture(i, body);
    }
  });
}
void re2_set(benchmark::State& state) {
  static Re2Rules rules;
  std::vector<int> hits;
  each_body(state, [&](const std::string& body) {
    hits.clear();
    if (!rules.set.Match(body, &hits)) return;
    for (const int hit : hits) rules.capture(static_cast<std::size_t>(hit), body);
  });
}

void hostile(benchmark::State& state) {
  static const auto all = bench::hostile_lines();
  const auto& [name, line] = all[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(name);
  LongLinePool pool;
  ParsedLines parsed;
  for (auto _ : state) {
    auto parser = StreamParser::make({}, shipped(), pool, 0, "");
    (*parser)->feed(line + "\n", kObserved, parsed);
    parsed.lines.clear();
    parsed.gaps.clear();
  }
}

BENCHMARK(parser_all)->MeasureProcessCPUTime();
BENCHMARK(parser_widened)->MeasureProcessCPUTime();
BENCHMARK(parser_file)->MeasureProcessCPUTime();
BENCHMARK(parser_without_rules)->MeasureProcessCPUTime();
BENCHMARK(mask);
BENCHMARK(mask_reference);
BENCHMARK(rules_by_shape)->MeasureProcessCPUTime();
BENCHMARK(rules_by_template);
BENCHMARK(rules_by_scan);
BENCHMARK(secrets);
BENCHMARK(re2_rule_by_rule)->MeasureProcessCPUTime();
BENCHMARK(re2_set)->MeasureProcessCPUTime();
BENCHMARK(hostile)->DenseRange(0, 11)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Prints as always, and keeps items per CPU second for the ratios.
class Reporter final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto items = run.counters.find("items_per_second");
      if (items != run.counters.end()) {
        per_second_[run.run_name.function_name] = items->second.value;
      }
      if (run.run_name.function_name == "hostile") {
        worst_ = std::max(worst_, run.GetAdjustedCPUTime());
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  void print_ratios() const {
    const auto ratio = [&](const char* what, const char* of, const char* to) {
      if (!per_second_.contains(of) || !per_second_.contains(to)) return;
      std::printf("%-52s %6.1f x\n", what, per_second_.at(of) / per_second_.at(to));
    };
    std::printf("average line: %zu bytes\n", bytes().size() / kLines);
    const auto rate = [&](const char* what, const char* of) {
      if (!per_second_.contains(of)) return;
      std::printf("%-52s %6.2f million lines per CPU second\n", what, per_second_.at(of) * 1e-6);
    };
    rate("unwrap, parse, template and all packs (bar: 1.2)", "parser_all");
    rate("... where the widths of numbers vary", "parser_widened");
    rate("... LGR_CORPUS", "parser_file");
    rate("... without rules", "parser_without_rules");
    rate("template and rules alone", "rules_by_shape");
    rate("RE2, rule by rule", "re2_rule_by_rule");
    rate("RE2::Set", "re2_set");
    ratio("template and rules against RE2 rule by rule", "rules_by_shape", "re2_rule_by_rule");
    ratio("template and rules against RE2::Set", "rules_by_shape", "re2_set");
    ratio("all of a line against RE2 rule by rule alone", "parser_all", "re2_rule_by_rule");
    ratio("all of a line against RE2::Set alone", "parser_all", "re2_set");
    ratio("mask and fingerprint against the plain version", "mask", "mask_reference");
    if (worst_ > 0) std::printf("dearest hostile line of 1 MiB: %.1f ms (bar: 10)\n", worst_);
  }

 private:
  std::map<std::string, double> per_second_;
  double worst_ = 0;  // ms
};

}  // namespace
}  // namespace logarithm

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  logarithm::Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratios();
  return 0;
}
