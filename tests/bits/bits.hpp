// A list of hashes of results: one line per case, one digest per group of cases. Two builds that compute the same write
// the same list.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/values.hpp"
#include "weft/context.hpp"
#include "weft/plan.hpp"

namespace weft::test {

/// FNV-1a over bytes.
class Hash {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3u;
  }
  void add(const std::string& text) { add(text.data(), text.size()); }
  /// The rows of a tensor without what stands between them; an empty tensor adds nothing.
  void add(const Tensor& tensor) {
    if (!tensor) return;
    const Tensor here = tensor.to(Device{});
    const ConstTensorView view = here.view();
    const auto row_bytes = static_cast<std::size_t>(view.shape.row_size()) * size_of(view.dtype);
    for (std::int64_t row = 0; row < view.shape.rows; ++row)
      add(static_cast<const std::byte*>(view.data) + row * view.ld * static_cast<std::int64_t>(size_of(view.dtype)),
          row_bytes);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

class Bits {
 public:
  explicit Bits(Device device) : device_(device), context_(Context::on(device)) {}

  Device device() const { return device_; }
  Context& context() { return context_; }

  /// One result: of which group, of which case in it, by which plan (empty: one the operator made for itself).
  template <class... Tensors>
  void add(const std::string& group, const std::string& what, const std::string& plan, const Tensors&... tensors) {
    Hash hash;
    (hash.add(tensors), ...);
    lines_.push_back({group, what, plan, hash.value()});
  }

  struct Line {
    std::string group, what, plan;
    std::uint64_t hash;
  };
  const std::vector<Line>& lines() const { return lines_; }

  struct Group {
    std::int64_t cases = 0;
    Hash digest;
  };
  std::map<std::string, Group> groups() const;

 private:
  Device device_;
  Context context_;
  std::vector<Line> lines_;
};

void add_sums(Bits& bits);
void add_edge_products(Bits& bits);
void add_softmax_and_segments(Bits& bits);
void add_attention(Bits& bits);
void add_training(Bits& bits);

}  // namespace weft::test
