#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "common/base/logging.h"
#include "tests/unit/agent/follow/follow_fixture.h"

// Random writers, rotations, crashes and state losses against the simplest model there is: a set of
// numbered lines. LGR_SEED sets the first seed, LGR_RUNS how many.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

class TailerModel {
 public:
  explicit TailerModel(std::uint64_t seed) : random_(seed) {
    f_.oracle.live = &f_.log;
    f_.options.read_bytes = 512 + pick(4096);
    f_.options.step_bytes = 4 * f_.options.read_bytes;
    mode_ = static_cast<Mode>(pick(3));
    f_.options.block_bytes = 256 + pick(8192);
  }

  void run(int actions) {
    for (int i = 0; i < actions; ++i) {
      act();
      if (pick(10) < 7) f_.glob("app.log");
      if (pick(10) < 6) f_.run(milliseconds(pick(4) == 0 ? 1100 : 60));
    }
    complete();
    f_.oracle.connected = true;
    for (int i = 0; i < 4; ++i) {
      f_.glob("app.log");
      f_.run(seconds(3));
    }
  }

  void check() {
    const std::string& actions = trace_;
    CAPTURE(actions);
    std::map<int, int> seen;
    std::map<int, std::string> where;
    for (const auto& [id, stream] : f_.log.streams) {
      std::string bytes;
      for (const Line& line : stream.lines) {
        bytes += line.raw;
        bytes += bytes_of(line.terminator);
      }
      std::size_t at = 0;
      for (std::size_t end; (end = bytes.find('\n', at)) != std::string::npos; at = end + 1) {
        const std::string text = bytes.substr(at, end - at);
        REQUIRE(text.starts_with("line "));
        const int number = std::atoi(text.c_str() + 5);
        ++seen[number];
        where[number] += " " + to_text(id).substr(26) + ":" + std::to_string(at);
      }
    }
    int missing = 0, twice = 0, wrong = -1;
    for (int n = 0; n < next_; ++n) {
      if (seen[n] > 1) ++twice;
      if (seen[n] == 0 && !may_be_lost_.contains(n)) ++missing;
      if (seen[n] > 1 || (seen[n] == 0 && !may_be_lost_.contains(n))) wrong = n;
    }
    CAPTURE(wrong);
    CAPTURE(where[wrong]);
    CAPTURE(mode_);
    CHECK(twice == 0);
    CHECK(missing == 0);
    CHECK(f_.log.problems.empty());
    for (const std::string& problem : f_.log.problems) MESSAGE(problem);
  }

 private:
  // After a state loss a copy is recognised by what the aggregator holds of the file it was copied
  // from, so that one must still be there under its name: the two are not mixed.
  enum Mode { rename_and_loss, copy_and_loss, everything_but_loss };

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void write_line() {
    const std::string text = "line " + std::to_string(next_) + " " +
                             std::string(static_cast<std::size_t>(pick(120)), 'x') + "\n";
    f_.append("app.log", text);
    current_.push_back(next_++);
  }
  // Half of a line now, the rest before anything is rotated.
  void write_half() {
    complete();
    f_.append("app.log", "line " + std::to_string(next_) + " ha");
    current_.push_back(next_++);
    half_ = true;
  }
  void complete() {
    if (half_) f_.append("app.log", "lf\n");
    half_ = false;
  }
  // Makes sure that the follower has read or at least opened what is about to vanish.
  void catch_up() {
    f_.oracle.connected = true;
    for (int i = 0; i < 2; ++i) {
      f_.glob("app.log");
      f_.run(seconds(3));
    }
  }
  void shift_names() {
    if (std::filesystem::exists(f_.path("app.log.3"))) {
      catch_up();
      f_.remove("app.log.3");
    }
    for (int i = 2; i >= 1; --i) {
      const std::string from = "app.log." + std::to_string(i);
      if (std::filesystem::exists(f_.path(from))) {
        f_.rename(from, "app.log." + std::to_string(i + 1));
      }
    }
  }

  void act() {
    if (!std::filesystem::exists(f_.path("app.log"))) current_.clear();
    const int action = pick(12);
    trace_ += " " + std::to_string(action) + "@" + std::to_string(next_);
    LGR_INFO("action {} line {}", action, next_);
    switch (action) {
      case 0:
        if (mode_ == Mode::copy_and_loss) break;
        complete();
        shift_names();
        if (std::filesystem::exists(f_.path("app.log"))) f_.rename("app.log", "app.log.1");
        current_.clear();
        break;
      case 1:
        complete();
        if (mode_ == Mode::rename_and_loss) break;
        if (!std::filesystem::exists(f_.path("app.log"))) break;
        shift_names();
        f_.copy("app.log", "app.log.1");
        if (pick(3) == 0) f_.glob("app.log"), f_.run();
        f_.cut("app.log");
        current_.clear();
        break;
      case 2:
        // Cut without a copy: what was not read by then may be lost.
        complete();
        if (!std::filesystem::exists(f_.path("app.log"))) break;
        if (pick(2) == 0) {
          catch_up();
        } else {
          may_be_lost_.insert(current_.begin(), current_.end());
        }
        f_.cut("app.log");
        current_.clear();
        break;
      case 3:
        if (mode_ == Mode::copy_and_loss) break;
        complete();
        catch_up();
        f_.remove("app.log");
        current_.clear();
        if (pick(2) == 0) write_line();
        break;
      case 4: f_.kill(); break;
      case 5:
        if (mode_ != Mode::everything_but_loss && pick(3) == 0) lose_state();
        break;
      case 6:
        if (!half_) write_half();
        break;
      case 7: f_.oracle.connected = !f_.oracle.connected || pick(2) == 0; break;
      default:
        complete();
        for (int i = pick(30); i >= 0; --i) write_line();
    }
  }

  // The state directory is deleted while everything that was spooled is at the aggregator.
  void lose_state() {
    catch_up();
    f_.kill();
    for (const auto& [id, stream] : f_.log.streams) f_.log.forgotten.insert(id);
    f_.oracle.asked.clear();
    f_.log.created = f_.clock.wall_now();
  }

  FollowFixture f_;
  Mode mode_ = Mode::everything_but_loss;
  std::mt19937_64 random_;
  int next_ = 0;
  std::string trace_;  // action@line
  bool half_ = false;
  std::vector<int> current_;  // lines in app.log now
  std::set<int> may_be_lost_;
};

}  // namespace

TEST_CASE("Follower model: every line exactly once, or behind a gap") {
  const char* seed_text = std::getenv("LGR_SEED");
  const char* runs_text = std::getenv("LGR_RUNS");
  const std::uint64_t first =
      seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : std::random_device()();
  const int runs = runs_text != nullptr ? std::atoi(runs_text) : 3;
  MESSAGE("LGR_SEED=" << first);
  for (int i = 0; i < runs; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    CAPTURE(seed);
    TailerModel model(seed);
    model.run(60);
    model.check();
  }
}

}  // namespace logarithm::test
