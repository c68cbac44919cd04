#include "fuzz/mend.hpp"
#include "graph/io/files.hpp"
#include "nn/model_file.hpp"

namespace weft::test {
namespace {

class safetensors_mender : public ::testing::Test {
 protected:
  safetensors_mender() {
    ModelSpec spec;
    spec.inputs = 3;
    spec.classes = 2;
    spec.hidden = 4;
    save_model(file_, make_model(spec, 1));
    whole_ = get(file_);
  }
  /// What is wrong with the file; nothing where it is read.
  std::string complaint(const std::string& bytes) const {
    put(file_, bytes);
    try {
      load_model(file_);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  static std::string mended(std::string bytes) {
    mend_safetensors(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  TempFolder folder_;
  std::string file_ = folder_ / "model", whole_;
};

TEST_F(safetensors_mender, leaves_what_is_right_as_it_is) { EXPECT_EQ(mended(whole_), whole_); }

TEST_F(safetensors_mender, lets_changed_tensors_past_the_checksum) {
  std::string changed = whole_;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_NE(complaint(changed).find("checksum"), std::string::npos);
  EXPECT_EQ(complaint(mended(changed)), "");
}

TEST_F(safetensors_mender, lets_a_changed_spec_past_the_checksum) {
  std::string changed = whole_;
  changed.replace(changed.find("\\\"gcn\\\""), 7, "\\\"gin\\\"");
  EXPECT_NE(complaint(changed).find("its checksum is"), std::string::npos);
  EXPECT_NE(complaint(mended(changed)).find("no tensor"), std::string::npos);
}

TEST_F(safetensors_mender, touches_nothing_outside_of_files_that_were_cut) {
  for (std::size_t size = 0; size <= whole_.size(); ++size) {
    const std::string cut = mended(whole_.substr(0, size)), marks(64, '\x5a');
    std::string framed = marks + whole_.substr(0, size) + marks;
    mend_safetensors(std::as_writable_bytes(std::span(framed).subspan(marks.size(), size)));
    EXPECT_EQ(framed, marks + cut + marks);
  }
}

}  // namespace
}  // namespace weft::test
