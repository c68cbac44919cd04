#include "fuzz/mend.hpp"

#include <algorithm>

#include "fuzz/bundle.hpp"
#include "graph/io/archives.hpp"
#include "graph/io/gzip.hpp"
#include "graph/io/packers.hpp"
#include "graph/io/weft_layout.hpp"
#include "support/graphs.hpp"

namespace weft::test {
namespace {

std::string mended(std::string bytes) {
  mend(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::string flipped(std::string bytes, std::size_t at, int bit = 0) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
  return bytes;
}

class mender : public ::testing::Test {
 protected:
  /// A file written by weft.
  std::string written(const std::string& name) const {
    write_graph(folder_ / name, graph_, edge_values(graph_.num_edges()), {}, "a note");
    return get(folder_ / name);
  }
  std::string archive(int method) const {
    put_npz(folder_ / "archive.npz", csr_members(), method);
    return get(folder_ / "archive.npz");
  }
  static std::string edges_of(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i)
      text += std::to_string(i % 10) + ' ' + std::to_string(i * i % 7) + '\n';
    return text.substr(0, bytes);
  }
  /// A stream in every packing but gzip.
  static std::vector<std::string> packed_streams() {
    std::vector<std::string> all;
    for (const io::PackingName& each : io::packings)
      if (each.packing != io::Packing::gzip) all.push_back(packed(each.packing, edges_of(60)));
    return all;
  }
  std::string member_with_every_field() const {
    const std::string plain = io::gzip_member("0 1\n1 2\n");
    std::string all = plain.substr(0, 3) + '\x1e' + plain.substr(4, 6);
    all += std::string("\3\0abc", 5) + std::string("name\0", 5) + std::string("comment\0", 8) + "??" + plain.substr(10);
    return mended(all);
  }

  /// What is wrong with the file; nothing where it is read.
  std::string complaint(const std::string& name, const std::string& bytes) const {
    put(folder_ / name, bytes);
    try {
      read_graph(folder_ / name);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  /// One bit of every byte in turn: mended, the file is read, or refused for another reason than a checksum.
  void expect_no_checksum_refused(const std::string& name, const std::string& bytes,
                                  const std::vector<std::string>& refusals) const {
    int refused = 0, read = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      SCOPED_TRACE(at);
      const std::string damaged = flipped(bytes, at, static_cast<int>(at % 8));
      const auto is_one = [](const std::string& message) {
        return [&](const std::string& part) { return message.find(part) != message.npos; };
      };
      refused += std::ranges::any_of(refusals, is_one(complaint(name, damaged)));
      const std::string after = complaint(name, mended(damaged));
      EXPECT_TRUE(std::ranges::none_of(refusals, is_one(after))) << after;
      read += after.empty();
    }
    EXPECT_GT(refused, 0) << "nothing was there to mend";
    EXPECT_GT(read, 0);
  }

  TempFolder folder_;
  Graph graph_ = battery::random_graph(4, 5, 9, 1);
};

TEST_F(mender, weft_files_are_not_refused_for_a_checksum) {
  const std::string bytes = written("g.weft"), damaged = flipped(bytes, bytes.find("a note"));
  EXPECT_NE(complaint("g.weft", damaged).find("checksum"), std::string::npos);
  EXPECT_EQ(complaint("g.weft", mended(damaged)), "");
  expect_no_checksum_refused("g.weft", bytes, {"checksum"});
}

TEST_F(mender, archives_are_not_refused_for_a_checksum) {
  for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    SCOPED_TRACE(method);
    expect_no_checksum_refused("g.npz", archive(method), {"CRC error"});
  }
}

TEST_F(mender, an_array_of_an_archive_may_change) {
  const std::string bytes = archive(ZIP_CM_STORE), damaged = flipped(bytes, bytes.find(raw<double>({1, 2})));
  EXPECT_NE(complaint("g.npz", damaged).find("CRC error"), std::string::npos);
  EXPECT_EQ(complaint("g.npz", mended(damaged)), "");
}

TEST_F(mender, gzip_files_are_not_refused_for_a_checksum) {
  const std::vector<std::string> refusals = {"incorrect data check", "incorrect length check", "header crc mismatch"};
  expect_no_checksum_refused("g.mtx.gz", written("g.mtx.gz"), refusals);
  expect_no_checksum_refused("edges.txt.gz", io::gzip_member("0 1\n") + member_with_every_field(), refusals);
}

TEST_F(mender, zstd_files_are_not_refused_for_a_checksum) {
  for (const std::size_t size : {3, 40, 300})  // xxHash has ways of its own below 4, 8 and 32 bytes, and for their rest
    expect_no_checksum_refused("edges.txt.zst", packed(io::Packing::zstd, edges_of(size)), {"doesn't match checksum"});
}

TEST_F(mender, of_bzip2_and_xz_gets_past_checksums_that_their_libraries_do_not_name) {
  for (const auto& [packing, name] :
       {std::pair{io::Packing::bzip2, "edges.txt.bz2"}, {io::Packing::xz, "edges.txt.xz"}}) {
    SCOPED_TRACE(name);
    const std::string bytes = packed(packing, edges_of(40)) + packed(packing, "1 2\n");
    int before = 0, after = 0, restored = 0;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const std::string damaged = flipped(bytes, bit / 8, static_cast<int>(bit % 8));
      before += complaint(name, damaged).empty();
      after += complaint(name, mended(damaged)).empty();
      restored += mended(damaged) == bytes;
    }
    EXPECT_GE(restored, 2 * (packing == io::Packing::xz ? 5 : 2) * 32) << "every bit of every checksum";
    EXPECT_GT(after, before + restored) << "and other content is read";
  }
}

TEST_F(mender, streams_of_several_blocks_are_mended_to_their_end) {
  const std::string text = edges_of(250'000);
  const std::string bytes = packed(io::Packing::bzip2, text);  // blocks of 100 KB
  std::string damaged = bytes;
  damaged[10] ^= 1;                  // the first block's CRC-32
  damaged[damaged.size() - 3] ^= 1;  // what the stream's add up to
  EXPECT_EQ(mended(damaged), bytes);
  std::string stream = packed(io::Packing::xz, edges_of(4'000)) + packed(io::Packing::xz, edges_of(100));
  const std::string right = stream;
  stream[8] ^= 1;                   // the header's
  stream[stream.size() - 12] ^= 1;  // the last footer's
  EXPECT_EQ(mended(stream), right);
}

TEST_F(mender, files_in_a_bundle_are_mended_each) {
  const std::string weft = written("g.weft"), npz = archive(ZIP_CM_DEFLATE);
  const auto bundle = [](const std::string& first, const std::string& second) {
    return "==== g.weft\n" + first + "\n==== raw/g.npz\n" + second + "\n==== note.txt\nplain";
  };
  const std::size_t note = weft.find("a note");
  const std::string damaged = bundle(flipped(weft, note), flipped(npz, 14));  // the first member's CRC-32
  EXPECT_EQ(mended(damaged), bundle(mended(flipped(weft, note)), npz));
}

TEST_F(mender, what_is_right_stays_as_it_is) {
  for (const std::string& bytes :
       {written("g.weft"), written("g.npz"), archive(ZIP_CM_STORE), archive(ZIP_CM_DEFLATE), written("g.mtx.gz"),
        io::gzip_member("a") + io::gzip_member("") + member_with_every_field(), written("g.mtx")}) {
    EXPECT_EQ(mended(bytes), bytes);
    EXPECT_EQ(mended("==== a\n" + bytes + "\n==== b\n" + bytes), "==== a\n" + bytes + "\n==== b\n" + bytes);
  }
}

TEST_F(mender, streams_that_are_right_stay_as_they_are) {
  for (const std::string& bytes : packed_streams()) {
    EXPECT_EQ(mended(bytes), bytes);
    EXPECT_EQ(mended(bytes + bytes), bytes + bytes);
    EXPECT_EQ(mended("==== a\n" + bytes + "\n==== b\nplain"), "==== a\n" + bytes + "\n==== b\nplain");
  }
}

TEST_F(mender, a_member_that_unpacks_to_megabytes_stays_as_it_is) {
  const std::string bomb = io::gzip_member(std::string(std::size_t{2} << 20, 'x'));
  const std::string damaged = flipped(bomb, bomb.size() - 8);
  EXPECT_EQ(mended(damaged), damaged);
}

/// In memory of its own, so that AddressSanitizer sees a step outside; between marks, so that a write is seen without.
void expect_nothing_outside_touched(const std::string& bytes) {
  const std::string exact = mended(bytes);
  EXPECT_EQ(exact.size(), bytes.size());
  const std::string marks(64, '\x5a');
  std::string framed = marks + bytes + marks;
  mend(std::as_writable_bytes(std::span(framed).subspan(marks.size(), bytes.size())));
  EXPECT_EQ(framed, marks + exact + marks);
}

TEST_F(mender, cut_files_are_safe) {
  for (const std::string& bytes :
       {written("g.weft"), archive(ZIP_CM_STORE), archive(ZIP_CM_DEFLATE), member_with_every_field()})
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      expect_nothing_outside_touched(bytes.substr(0, size));
      expect_nothing_outside_touched(bytes.substr(size));
    }
}

TEST_F(mender, cut_and_changed_streams_are_safe) {
  battery::SmallRandom random(3);
  for (const std::string& bytes : packed_streams()) {
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      expect_nothing_outside_touched(bytes.substr(0, size));
      expect_nothing_outside_touched(bytes.substr(size));
    }
    for (int i = 0; i < 200; ++i) {
      std::string changed = bytes;
      for (int k = 0; k < 4; ++k)
        changed[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())))] =
            static_cast<char>(random.next());
      expect_nothing_outside_touched(changed);
    }
  }
}

TEST_F(mender, random_bytes_of_any_length_are_safe) {
  battery::SmallRandom random(1);
  const std::string weft(io::weft_magic.begin(), io::weft_magic.end());
  for (const std::string& start : {std::string(), weft, std::string("\x1f\x8b\x08"), std::string("\x1f\x8b\x08\x1e"),
                                   std::string("PK\5\6"), std::string(bundle_mark), std::string("BZh91AY&SY"),
                                   std::string("\xfd\x37zXZ\0\0\1", 8), std::string("\x28\xb5\x2f\xfd\4")})
    for (std::size_t size = 0; size <= 200; ++size) {
      std::string bytes = start;
      while (bytes.size() < size) bytes += static_cast<char>(random.next());
      SCOPED_TRACE("length " + std::to_string(bytes.size()));
      expect_nothing_outside_touched(bytes);
    }
}

TEST_F(mender, random_bytes_in_headers_are_safe) {
  battery::SmallRandom random(2);
  for (const std::string& bytes : {written("g.weft"), archive(ZIP_CM_STORE), archive(ZIP_CM_DEFLATE)})
    for (int i = 0; i < 2000; ++i) {
      std::string changed = bytes;
      for (int k = 0; k < 8; ++k) {
        const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())));
        changed[at] = static_cast<char>(random.next());
      }
      expect_nothing_outside_touched(changed);
    }
}

}  // namespace
}  // namespace weft::test
