// Runs the built weft command and keeps what it said.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

extern char** environ;

namespace weft::test {

struct Outcome {
  int status = -1;  // the exit status; 128 + the signal where one ended it
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A folder of its own that goes away with it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-tools-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// In an AddressSanitizer build the search for leaks at the end of a process takes up to 4 s, and these
/// tests start some two hundred: the command skips it. The test program, made of the same parts, does not.
inline void skip_leak_search_in_children() {
  static const bool done = [] {
    const char* options = std::getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS", (std::string(options != nullptr ? options : "") + ":detect_leaks=0").c_str(), 1);
    return true;
  }();
  static_cast<void>(done);
}

/// Whether the command may see this machine's GPUs. `where_asked`: in calls that name one, or neither measure nor plan.
enum class Gpus { where_asked, always };

inline bool hides_gpus(const std::vector<std::string>& arguments, Gpus gpus) {
  const bool runs =
      !arguments.empty() && (arguments[0] == "bench" || arguments[0] == "explain" || arguments[0] == "tune");
  if (gpus == Gpus::always || !runs) return false;
  return std::none_of(arguments.begin(), arguments.end(),
                      [](const std::string& a) { return a.find("cuda") != std::string::npos; });
}

/// Starts the command and does not wait for it. Who passes `environ` calls skip_leak_search_in_children first.
inline pid_t start_weft(std::vector<std::string> arguments, const std::string& out, const std::string& err,
                        char** environment, const posix_spawnattr_t* attributes = nullptr) {
  arguments.insert(arguments.begin(), WEFT_COMMAND);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int error = posix_spawn(&child, WEFT_COMMAND, &actions, attributes, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " WEFT_COMMAND);
  return child;
}

/// `out_to`, if given, is where standard output goes instead.
inline Outcome run_weft(std::vector<std::string> arguments, const std::string& out_to = "",
                        Gpus gpus = Gpus::where_asked) {
  skip_leak_search_in_children();
  const std::string visible = "CUDA_VISIBLE_DEVICES=";
  std::string none = visible;
  std::vector<char*> environment;
  const bool hidden = hides_gpus(arguments, gpus);
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!hidden || std::string(*entry).rfind(visible, 0) != 0) environment.push_back(*entry);
  if (hidden) environment.push_back(none.data());
  environment.push_back(nullptr);
  const Folder folder;
  const std::string out = out_to.empty() ? folder / "out" : out_to, err = folder / "err";
  const pid_t child = start_weft(std::move(arguments), out, err, environment.data());
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (out_to.empty()) outcome.out = text_of(out);
  outcome.err = text_of(err);
  return outcome;
}

/// Failed or refused with the given status, in exactly one line that starts with "weft: " and holds `part`.
inline void expect_complaint(const Outcome& outcome, int status, const std::string& part) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("weft: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << "expected '" << part << "' in: " << outcome.err;
}

}  // namespace weft::test
