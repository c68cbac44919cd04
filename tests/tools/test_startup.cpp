// What the command takes before it has done anything, and for a small job.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

#include "command_runner.hpp"

namespace weft::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

struct Cost {
  double seconds;          // of a processor
  std::int64_t mebibytes;  // at most, resident
};

Cost cost_of(std::vector<std::string> arguments) {
  const Folder folder;
  const pid_t child = start_weft(std::move(arguments), folder / "out", folder / "err", environ);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  EXPECT_EQ(status, 0) << text_of(folder / "err");
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss / 1024};
}

// 10 ms on a Xeon of 2.5 GHz; the bound has room for slow machines, not for a library that starts threads.
TEST(startup, takes_little_time) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's build starts slowly";
  double least = 1;
  for (int i = 0; i < 10; ++i) least = std::min(least, cost_of({"--version"}).seconds);
  EXPECT_LT(least, 0.06);
}

TEST(startup, and_small_jobs_take_less_than_60_MiB) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's build takes more memory";
  EXPECT_LT(cost_of({"--version"}).mebibytes, 60);
  EXPECT_LT(cost_of({"info", "karate"}).mebibytes, 60);
  EXPECT_LT(cost_of({"train", "--data", "citations", "--model", "gcn", "--epochs", "3", "--device", "cpu", "--quiet"})
                .mebibytes,
            60);
  EXPECT_LT(cost_of({"train", "--data", "citations", "--model", "gcn", "--epochs", "3", "--device", "cpu", "--quiet",
                     "--threads", "64"})
                .mebibytes,
            60);
}

TEST(startup, takes_no_library_from_the_current_folder) {
  const Folder folder;
  for (const char* library : {"libz.so.1", "libzip.so.4", "libstdc++.so.6", "libc.so.6"})
    write_text(folder / library, "");
  EXPECT_EQ(std::system(("cd '" + (folder / "") + "' && '" + WEFT_COMMAND + "' --version > /dev/null").c_str()), 0);
}

}  // namespace
}  // namespace weft::test
