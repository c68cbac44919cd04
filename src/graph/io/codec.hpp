// One packing's decoder, over the library that has it. What all packings share (members one after the other, bounds,
// files that were cut off) is unpacker.hpp's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "graph/io/packing.hpp"

namespace weft::io {

class Codec {
 public:
  struct Step {
    std::size_t taken = 0, given = 0;
    bool ended = false;      // the member, or frame, is complete and its checksum holds
    std::string fault = {};  // what is wrong with the data; empty for nothing
  };

  virtual ~Codec() = default;
  /// As much as fits.
  virtual Step step(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// For the next member.
  virtual void restart() = 0;
};

/// An Error (out_of_memory) where the library has no memory for its state. Packing::none has no codec.
std::unique_ptr<Codec> make_codec(Packing packing);

}  // namespace weft::io
