// Files of other programs are refused with what to do instead, and archives that are traps or ambiguous are refused.
#include "graph/io/archives.hpp"
#include "graph/io/packers.hpp"
#include "weft/context.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

class foreign_files : public ::testing::Test {
 protected:
  void expect_refused(const std::string& name, const std::string& bytes, const std::vector<std::string>& parts,
                      ErrorCode code = ErrorCode::unsupported) {
    put(folder_ / name, bytes);
    expect_file_error([&] { read_dataset(folder_ / name); }, folder_ / name, code, parts);
  }
  std::string zip_of(const std::vector<std::string>& names) {
    const std::string path = folder_ / "made.zip";
    zip_t* archive = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const std::string& name : names)
      ::zip_file_add(archive, name.c_str(), ::zip_source_buffer(archive, "abc", 3, 0), 0);
    EXPECT_EQ(::zip_close(archive), 0);
    return get(path);
  }
  TempFolder folder_;
};

TEST_F(foreign_files, of_torch_say_how_to_export_them) {
  expect_refused("cora.pt", zip_of({"archive/data.pkl", "archive/version", "archive/data/0"}),
                 {"torch.save", "numpy.savez", "edge_index", "train_mask"});
  expect_refused("old.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15),
                 {"torch.save", "numpy.savez"});
  expect_refused("graph.pkl", std::string("\x80\x04\x95\0\0", 5), {"Python pickle", "numpy.savez"});
}

TEST_F(foreign_files, of_git_lfs_are_to_be_pulled_whatever_their_name) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  for (const char* name : {"g.csv", "g.weft", "g.npz", "g.mtx", "g"})
    expect_refused(name, pointer, {"Git LFS", "git lfs pull"}, ErrorCode::invalid_file);
}

TEST_F(foreign_files, that_are_archives_of_other_files_are_to_be_unpacked) {
  expect_refused("data.zip", zip_of({"edges.csv", "labels.csv"}), {"zip archive", "'edges.csv'", "unpack it"});
  std::string tar(512, '\0');
  tar.replace(0, 9, "edges.csv").replace(257, 5, "ustar");
  expect_refused("data.tar", tar, {"tar archive", "unpack it"});
  expect_refused("data.tar.xz", packed(io::Packing::xz, tar), {"tar archive", "unpack it"});
}

TEST_F(foreign_files, of_data_frames_and_matlab_say_what_to_write) {
  expect_refused("g.h5", "\x89HDF\r\n\x1a\n....", {"HDF5", "numpy.savez"});
  expect_refused("g.parquet", "PAR1\x15\x04\x15....", {"Parquet", "to_csv"});
  expect_refused("g.mat", std::string("MATLAB 5.0 MAT-file, Platform\0\1IM", 33), {"MATLAB", "loadmat"});
  expect_refused("g.arrow", std::string("ARROW1\0\0....", 12), {"Arrow", "to_csv"});
}

TEST_F(foreign_files, are_not_tables_that_begin_with_a_mark_of_letters) {
  put(folder_ / "genes.tsv", "PAR1\tABL1\nABL1\tFEA1\r\n");
  const Dataset data = read_dataset(folder_ / "genes.tsv");
  EXPECT_EQ(data.num_nodes(), 3);
  EXPECT_EQ(data.node_names.at(0), "PAR1");
}

TEST_F(foreign_files, with_two_members_of_one_name_are_refused_by_name) {
  std::string bytes = zip_of({"indices.npy", "indicex.npy"});
  for (std::size_t at = bytes.find("indicex"); at != bytes.npos; at = bytes.find("indicex", at)) bytes[at + 6] = 's';
  expect_refused("twice.npz", bytes, {"two members 'indices.npy'"}, ErrorCode::invalid_file);
}

TEST_F(foreign_files, that_are_bombs_ask_for_no_memory) {
  constexpr std::size_t count = std::size_t{64} << 20;  // of one byte each, which become eight
  Members members = csr_members();
  members["indptr"] = io::make_npy_header("|i1", {static_cast<std::int64_t>(count)}) + std::string(count, '\0');
  const std::string path = folder_ / "bomb.npz";
  put_npz(path, members, ZIP_CM_DEFLATE);
  ASSERT_LT(std::filesystem::file_size(path), 1u << 17);
  members.clear();
  reset_memory_peak();
  const std::size_t before = memory_stats().peak_bytes;
  expect_unreadable(path, ErrorCode::invalid_file, {"array 'indptr'", "67108864 elements", "numpy.savez"});
  EXPECT_LT(memory_stats().peak_bytes, before + (std::size_t{1} << 22));
}

TEST_F(foreign_files, of_the_shared_folder_that_are_bombs_ask_for_no_memory) {
  const std::string path = WEFT_SHARED_DATA "/hostile/bomb.npz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the shared data folder lacks " << path;
  reset_memory_peak();
  const std::size_t before = memory_stats().peak_bytes;
  expect_unreadable(path, ErrorCode::invalid_file, {"array 'indptr'"});
  EXPECT_LT(memory_stats().peak_bytes, before + (std::size_t{1} << 22));
}

}  // namespace
}  // namespace weft::test
