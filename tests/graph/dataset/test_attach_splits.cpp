// Train, validation and test nodes out of a file of their own.
#include "graph/dataset/attached.hpp"

namespace weft::test {
namespace {

using attached_splits = attached;

TEST_F(attached_splits, splits_come_from_masks_indices_and_tables) {
  const auto expect_splits = [](const Dataset& data) {
    EXPECT_EQ(nodes_of(data.train), (Nodes{0, 3}));
    EXPECT_EQ(nodes_of(data.val), (Nodes{1}));
    EXPECT_FALSE(data.test);
  };
  Dataset data = numbered();
  attach(data, {.masks = archive({{"train_mask", npy<std::uint8_t>("|b1", {1, 0, 0, 1})},
                                  {"val_mask", npy<std::uint8_t>("|b1", {0, 1, 0, 0})}})});
  expect_splits(data);
  data = numbered();
  attach(data,
         {.masks = archive({{"train", npy<std::int64_t>("<i8", {3, 0})}, {"valid", npy<std::int64_t>("<i8", {1})}})});
  expect_splits(data);
  data = numbered();
  attach(data, {.masks = file("m.csv", "node,split\n3,train\n0,Train\n1,valid\n2,none\n")});
  expect_splits(data);
  data = numbered();
  attach(data, {.masks = file("m.txt", "train\nval\nnone\ntrain\n")});
  expect_splits(data);
}

TEST_F(attached_splits, splits_that_do_not_fit_are_refused) {
  const auto refused = [&](const Members& members, const std::vector<std::string>& words) {
    expect_refused(numbered(), {.masks = archive(members)}, words);
  };
  const std::string mask = npy<std::uint8_t>("|b1", {1, 0, 0, 1});
  refused({{"train_mask", mask}, {"test_mask", mask}}, {"element 0", "'test_mask'", "one split"});
  refused({{"train_mask", mask}, {"val_mask", npy<std::uint8_t>("|b1", {1, 0})}}, {"'val_mask'", "2", "4"});
  refused({{"train_mask", npy<std::int32_t>("<i4", {0, 3, 1, 1})}}, {"node 1 is 3", "train_idx"});
  refused({{"train_mask", npy<float>("<f4", {0, 1, 1, 2})}}, {"'train_mask'", "node 3 is 2", "0 or 1"});
  refused({{"train_mask", npy<std::uint8_t>("|b1", {1, 0})}}, {"2 rows", "4 nodes"});
  refused({{"train_idx", npy<std::int32_t>("<i4", {0, 9})}}, {"element 1 of array 'train_idx'", "'9'"});
  refused({{"train_idx", npy<std::int32_t>("<i4", {0})}, {"test_idx", npy<std::int32_t>("<i4", {0})}},
          {"element 0 of array 'test_idx'", "element 0 of array 'train_idx'"});
  refused({{"a", mask}}, {"'a'", "train_mask"});
  refused({{"test_idx", npy<std::int32_t>("<i4", {0})}}, {"no node to train on"});
  expect_refused(ids(), {.masks = archive({{"train_idx", npy<std::int32_t>("<i4", {0})}})}, {"ids of their own", "10"});
  expect_refused(numbered(), {.masks = file("m.csv", "node,split\n0,train\n1,both\n")}, {"line 3", "'both'"});
  expect_refused(numbered(), {.masks = file("m.npy", mask)}, {"np.savez"}, ErrorCode::unsupported);
}

TEST_F(attached_splits, lists_and_masks_of_one_archive_are_both_read) {
  Dataset data = numbered();
  attach(data, {.masks = archive({{"train_mask", npy<std::uint8_t>("|b1", {1, 0, 0, 1})},
                                  {"val_index", npy<std::int32_t>("<i4", {1})},
                                  {"idx_test", npy<std::int32_t>("<i4", {2})}})});
  EXPECT_EQ(nodes_of(data.train), (Nodes{0, 3}));
  EXPECT_EQ(nodes_of(data.val), (Nodes{1}));
  EXPECT_EQ(nodes_of(data.test), (Nodes{2}));
}

TEST_F(attached_splits, lists_and_masks_of_one_split_must_say_the_same) {
  const std::string mask = npy<std::uint8_t>("|b1", {1, 0, 0, 1});
  Dataset data = numbered();
  attach(data, {.masks = archive({{"train_mask", mask}, {"train_idx", npy<std::int32_t>("<i4", {3, 0})}})});
  EXPECT_EQ(nodes_of(data.train), (Nodes{0, 3}));
  expect_refused(numbered(),
                 {.masks = archive({{"train_mask", mask}, {"train_idx", npy<std::int32_t>("<i4", {1, 2})}})},
                 {"'train_idx' (2 nodes)", "'train_mask' (2 nodes)", "different"});
  expect_refused(numbered(),
                 {.masks = archive({{"train_idx", npy<std::int32_t>("<i4", {1})},
                                    {"training_index", npy<std::int32_t>("<i4", {2})}})},
                 {"'train_idx'", "'training_index'", "different"});
}

TEST_F(attached_splits, of_masks_for_several_splits_the_first_is_read_and_a_note_says_so) {
  Dataset data = numbered();
  const auto notes = attach(
      data, {.masks = archive({{"train_mask", npy_matrix<std::uint8_t>("|b1", 4, 2, {1, 0, 0, 1, 0, 0, 1, 1})}})});
  EXPECT_EQ(nodes_of(data.train), (Nodes{0, 3}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("2 splits, of which the first is read"), std::string::npos) << notes[0];
}

TEST_F(attached_splits, lists_of_more_indices_than_nodes_are_refused_before_they_are_read) {
  put_npz(folder_ / "part.npz", {{"train_idx", npy<std::int8_t>("|i1", std::vector<std::int8_t>(1 << 22))}},
          ZIP_CM_DEFLATE);
  Dataset data = numbered();
  expect_file_error([&] { attach(data, {.labels = file("y.txt", "0\n1\n0\n1\n1\n"), .masks = folder_ / "part.npz"}); },
                    folder_ / "part.npz", ErrorCode::invalid_file, {"at most 5,"});
  expect_refused(numbered(), {.masks = folder_ / "part.npz"}, {"'train_idx' has 4194304 elements", "at most 4,"});
}

}  // namespace
}  // namespace weft::test
