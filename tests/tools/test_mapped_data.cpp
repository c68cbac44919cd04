// A .weft file is mapped, not read: one that is truncated in use must end the command in one line, whichever thread
// touches what is gone.
#include <filesystem>
#include <thread>

#include "command_runner.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

TEST(mapped_data, that_is_truncated_while_several_threads_train_on_it_ends_in_one_line) {
  const Folder folder;
  const std::string data = folder / "data.weft", log = folder / "log.csv", err = folder / "err";
  write_dataset(data, open_dataset("citations:nodes=20000"));
  skip_leak_search_in_children();
  // A weighted sum over neighbours reads the mapped columns in every epoch.
  const pid_t child = start_weft({"train", "--data", data, "--model", "sage", "--epochs", "100000", "--patience", "0",
                                  "--device", "cpu", "--threads", "4", "--quiet", "--log", log},
                                 folder / "out", err, environ);
  for (int i = 0; i < 600 && text_of(log).find("\n1,") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::filesystem::resize_file(data, 4096);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_NE(text_of(err).find("a mapped .weft file was truncated"), std::string::npos) << text_of(err);
}

}  // namespace
}  // namespace weft::test
