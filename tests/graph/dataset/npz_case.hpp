// A dataset in one .npz whose arrays a test may change before it is read.
#pragma once

#include <string>
#include <vector>

#include "graph/io/archives.hpp"
#include "graph/io/files.hpp"
#include "weft/dataset.hpp"

namespace weft::test {

class NpzCase : public ::testing::Test {
 protected:
  Dataset read() {
    put_npz(file_, members_);
    return read_dataset(file_);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    put_npz(file_, members_);
    expect_file_error([&] { read_dataset(file_); }, file_, ErrorCode::invalid_file, parts);
  }

  TempFolder folder_;
  std::string file_ = folder_ / "tiny.npz";
  Members members_;
};

}  // namespace weft::test
