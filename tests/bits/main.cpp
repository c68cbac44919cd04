// weft_bits DEVICE FILE: hashes of the results of every operator, gradient and model over the battery, to be compared
// between two builds. FILE gets one line per case (group, case, plan, hash, by tabs); standard output one a group.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "bits/bits.hpp"

namespace weft::test {

std::map<std::string, Bits::Group> Bits::groups() const {
  std::map<std::string, Group> all;
  for (const Line& line : lines_) {
    Group& group = all[line.group];
    ++group.cases;
    group.digest.add(line.what);
    group.digest.add(line.plan);
    group.digest.add(&line.hash, sizeof line.hash);
  }
  return all;
}

namespace {

int run(std::string_view device, const char* path) {
  Bits bits(device == "cuda" ? Device{DeviceKind::cuda, 0} : Device{});
  for (const auto add : {add_sums, add_edge_products, add_softmax_and_segments, add_attention, add_training}) add(bits);
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    fmt::print(stderr, "weft_bits: {} cannot be written\n", path);
    return 1;
  }
  for (const Bits::Line& line : bits.lines())
    fmt::print(file, "{}\t{}\t{}\t{:016x}\n", line.group, line.what, line.plan, line.hash);
  const bool written = std::fclose(file) == 0;
  for (const auto& [name, group] : bits.groups())
    fmt::print("{:<40} {:6} {:016x}\n", name, group.cases, group.digest.value());
  if (!written) fmt::print(stderr, "weft_bits: {} could not be written whole\n", path);
  return written ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main(int count, char** arguments) {
  const std::string_view device = count == 3 ? arguments[1] : "";
  if (device != "cpu" && device != "cuda") {
    fmt::print(stderr, "usage: weft_bits cpu|cuda FILE\n");
    return 2;
  }
  try {
    return weft::test::run(device, arguments[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft_bits: {}\n", error.what());
    return 1;
  }
}
