#include "graph/io/atomic_writer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/io/files.hpp"
#include "support/full_disk.hpp"
#include "support/graphs.hpp"

namespace weft::test {
namespace {

const char* const all_formats[] = {"g.weft", "g.npz", "g.mtx", "g.mtx.gz"};

TEST(atomic_writer, a_full_disk_leaves_the_old_file_whole_and_nothing_else) {
  for (const char* name : all_formats) {
    SCOPED_TRACE(name);
    const TempFolder folder;
    write_graph(folder / name, battery::grid_graph(3));
    const std::string before = get(folder / name);
    std::string message;
    ErrorCode code{};
    const Graph large = battery::random_graph(1000, 1000, 50'000, 1);
    try {
      const FullDisk disk(20'000);
      write_graph(folder / name, large);
    } catch (const Error& error) {
      message = error.what();
      code = error.code();
    }
    EXPECT_EQ(weft::name(code), "io");
    EXPECT_NE(message.find(folder / name), message.npos) << message;
    EXPECT_NE(message.find("nothing was changed"), message.npos) << message;
    EXPECT_EQ(get(folder / name), before);
    EXPECT_EQ(folder.names(), std::vector<std::string>{name});
  }
}

TEST(atomic_writer, a_kill_leaves_the_old_file_whole_and_only_the_temporary_one) {
  for (const char* name : {"g.weft", "g.npz", "g.mtx"}) {
    SCOPED_TRACE(name);
    const TempFolder folder;
    write_graph(folder / name, battery::grid_graph(3));
    const std::string before = get(folder / name);
    const Graph large = battery::random_graph(1000, 1000, 50'000, 2);
    const pid_t child = ::fork();
    if (child == 0) {
      set_default_threads(1);  // only what is written counts here
      write_graph(folder / name, large, {}, [](std::string_view, std::int64_t, std::int64_t) { ::raise(SIGKILL); });
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(get(folder / name), before);
    std::vector<std::string> names = folder.names();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"." + std::string(name) + ".tmp-" + std::to_string(child), name}));
  }
}

TEST(atomic_writer, a_folder_as_the_target_is_refused) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "g.weft");
  expect_file_error([&] { write_graph(folder / "g.weft", Graph()); }, folder / "g.weft", ErrorCode::io, {"folder"});
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(atomic_writer, a_missing_folder_is_named) {
  const TempFolder folder;
  const std::string path = folder / "missing/g.weft";
  expect_file_error([&] { write_graph(path, Graph()); }, path, ErrorCode::io, {"missing'", "No such file"});
}

TEST(atomic_writer, a_folder_that_may_not_be_written_is_named) {
  const std::string path = "/proc/g.weft";  // refused even to root
  expect_file_error([&] { write_graph(path, Graph()); }, path, ErrorCode::io, {"'/proc'"});
}

TEST(atomic_writer, a_device_is_written_to_and_never_replaced) {
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/null", folder / "g.mtx");
  write_graph(folder / "g.mtx", Graph());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "g.mtx"));
  EXPECT_EQ(folder.names().size(), 1u);
  std::filesystem::create_symlink("/dev/full", folder / "full.mtx");
  expect_file_error([&] { write_graph(folder / "full.mtx", Graph()); }, folder / "full.mtx", ErrorCode::io,
                    {"No space left"});
}

TEST(atomic_writer, a_pipe_gets_all_that_was_written_and_stays) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  {
    io::AtomicWriter unused(pipe);  // as a command that looks whether it may write
  }
  io::AtomicWriter writer(pipe);
  writer.write("text");
  writer.seek(0);
  writer.write("T");
  writer.commit();
  char found[8] = {};
  EXPECT_EQ(::read(reader, found, sizeof found), 4);
  EXPECT_STREQ(found, "Text");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(atomic_writer, an_open_file_named_by_its_descriptor_goes_on_where_it_stands) {
  const TempFolder folder;
  for (const std::string place : {"/dev/fd", "/proc/self/fd"}) {
    SCOPED_TRACE(place);
    const int log = ::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(log, 0);
    ASSERT_EQ(::write(log, "before ", 7), 7);
    io::AtomicWriter writer(place + "/" + std::to_string(log));
    writer.write("written ");
    writer.commit();
    ASSERT_EQ(::write(log, "after", 5), 5);
    ::close(log);
    EXPECT_EQ(get(folder / "log"), "before written after");
    EXPECT_EQ(folder.names().size(), 1u);
  }
}

TEST(atomic_writer, a_descriptor_that_is_not_open_for_writing_is_refused) {
  expect_file_error([] { io::AtomicWriter writer("/dev/fd/987"); }, "", ErrorCode::io, {"987", "not open for writing"});
  const int reader = ::open("/dev/null", O_RDONLY);
  expect_file_error([&] { io::AtomicWriter writer("/dev/fd/" + std::to_string(reader)); }, "", ErrorCode::io,
                    {"not open for writing"});
  ::close(reader);
}

TEST(atomic_writer, a_link_to_no_file_stays_and_the_file_is_made) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "inside");
  std::filesystem::create_symlink("inside/second", folder / "first");
  std::filesystem::create_symlink("../real.weft", folder / "inside/second");
  io::AtomicWriter writer(folder / "first");
  writer.write("text");
  writer.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "inside/second"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "real.weft"));
  EXPECT_EQ(get(folder / "real.weft"), "text");
}

TEST(atomic_writer, links_in_a_circle_are_refused) {
  const TempFolder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  expect_file_error([&] { io::AtomicWriter writer(folder / "a"); }, "", ErrorCode::io, {"circle"});
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(atomic_writer, a_symbolic_link_stays_and_its_file_is_replaced) {
  const TempFolder folder;
  write_graph(folder / "real.weft", battery::grid_graph(2));
  std::filesystem::create_symlink("real.weft", folder / "link.weft");
  write_graph(folder / "link.weft", battery::grid_graph(3));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.weft"));
  EXPECT_EQ(read_graph(folder / "real.weft").graph.num_rows(), 9);
}

TEST(atomic_writer, permissions_of_the_old_file_are_kept) {
  const TempFolder folder;
  write_graph(folder / "g.weft", Graph());
  ASSERT_EQ(::chmod((folder / "g.weft").c_str(), 0640), 0);
  write_graph(folder / "g.weft", battery::grid_graph(2));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "g.weft").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(atomic_writer, two_writers_of_one_file_do_not_disturb_each_other) {
  const TempFolder folder;
  io::AtomicWriter first(folder / "a"), second(folder / "a");
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(get(folder / "a"), "second");
  first.commit();
  EXPECT_EQ(get(folder / "a"), "first");
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(atomic_writer, names_as_long_as_the_system_allows_are_written) {
  const TempFolder folder;
  const std::string longest = std::string(250, 'n') + ".weft", longer = std::string(251, 'n') + ".weft";
  write_graph(folder / longest, Graph());
  EXPECT_EQ(folder.names(), std::vector<std::string>{longest});
  expect_file_error([&] { write_graph(folder / longer, Graph()); }, longer, ErrorCode::io, {"256 bytes"});
}

TEST(atomic_writer, without_commit_nothing_appears) {
  const TempFolder folder;
  {
    io::AtomicWriter writer(folder / "a");
    writer.write("text");
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(graph_files_out_of_memory, every_failing_allocation_ends_in_one_clear_error) {
  const TempFolder folder;
  const Graph graph = battery::random_graph(20, 20, 60, 3);
  const Tensor values = edge_values(60);
  for (const char* name : all_formats) {
    SCOPED_TRACE(name);
    write_graph(folder / name, graph, values);
    const std::string before = get(folder / name);
    for (const bool reading : {true, false})
      for (std::size_t nth = 1; nth < 1000; ++nth) {
        fail_allocation(nth);
        try {
          if (reading)
            read_graph(folder / name);
          else
            write_graph(folder / name, graph, values);
          fail_allocation(0);
          break;
        } catch (const Error& error) {
          fail_allocation(0);
          EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
          EXPECT_NE(std::string_view(error.what()).find(folder / name), std::string_view::npos) << error.what();
          EXPECT_EQ(get(folder / name), before);
          EXPECT_EQ(
              folder.names().size(),
              static_cast<std::size_t>(std::find(std::begin(all_formats), std::end(all_formats), name) - all_formats) +
                  1);
        }
      }
  }
}

}  // namespace
}  // namespace weft::test
