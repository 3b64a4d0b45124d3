#include "agent/follow/open_writers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>

namespace logarithm::agent {
namespace {

// Whoever asks no more was closed otherwise.
constexpr std::chrono::seconds kForget{30};
// A file that was renamed can be opened again.
constexpr std::chrono::seconds kStale{10};

bool is_number(const char* name) {
  return *name != '\0' && std::all_of(name, name + std::char_traits<char>::length(name),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

OpenWriters::Answer OpenWriters::ask(std::uint64_t device, std::uint64_t inode, MonotonicTime now) {
  Question& question = questions_[{device, inode}];
  question.asked = now;
  if (question.answer == Answer::free && now - question.answered > kStale) {
    question.answer = Answer::unknown;
  }
  return question.answer;
}

bool OpenWriters::wants_round(MonotonicTime now) {
  std::erase_if(questions_, [&](const auto& entry) { return now - entry.second.asked > kForget; });
  return std::any_of(questions_.begin(), questions_.end(), [&](const auto& entry) {
    const Question& question = entry.second;
    return question.answer == Answer::unknown ||
           (question.answer == Answer::held && now - question.answered >= kAgain);
  });
}

void OpenWriters::begin(MonotonicTime now) {
  for (auto& [file, question] : questions_) {
    question.in_round = true;
    question.found = false;
  }
  under_way_ = true;
  const Directory root(::opendir(proc_root_.c_str()));
  if (!root) return end(now);
  while (const dirent* entry = ::readdir(root.get())) {
    if (is_number(entry->d_name)) processes_.emplace_back(entry->d_name);
  }
}

void OpenWriters::end(MonotonicTime now) {
  under_way_ = false;
  for (auto& [file, question] : questions_) {
    if (!std::exchange(question.in_round, false)) continue;
    question.answer = question.found ? Answer::held : Answer::free;
    question.answered = now;
  }
}

void OpenWriters::look(int directory, const char* name) {
  // The link's mode says how it was opened. Its file is not asked about over a network.
  struct stat link {};
  if (::fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) != 0) return;
  if ((link.st_mode & S_IWUSR) == 0) return;
  struct statx file {};
  if (::statx(directory, name, AT_STATX_DONT_SYNC, STATX_INO, &file) != 0) return;
  const auto found =
      questions_.find({makedev(file.stx_dev_major, file.stx_dev_minor), file.stx_ino});
  if (found != questions_.end()) found->second.found = true;
}

bool OpenWriters::step(BlockingToken&, MonotonicTime now) {
  if (!under_way_) {
    if (questions_.empty() || !wants_round(now)) return false;
    begin(now);
  }
  for (int looked = 0; under_way_ && looked < kDescriptors;) {
    if (!descriptors_) {
      if (processes_.empty()) {
        end(now);
        break;
      }
      descriptors_.reset(::opendir((proc_root_ + "/" + processes_.back() + "/fd").c_str()));
      processes_.pop_back();
      looked += 20;  // what opening a directory costs
      continue;
    }
    const dirent* entry = ::readdir(descriptors_.get());
    if (entry == nullptr) {
      descriptors_.reset();
      continue;
    }
    if (!is_number(entry->d_name)) continue;
    look(::dirfd(descriptors_.get()), entry->d_name);
    ++looked;
  }
  return true;
}

}  // namespace logarithm::agent
