// The content of a file, a piece at a time: as it is, or unpacked where it is packed. A packed file may be several
// members (or streams, or frames) one after the other, which is what packing on all cores gives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/memory.hpp"
#include "graph/io/packing.hpp"
#include "graph/io/source.hpp"

namespace weft::io {

/// Errors are for damaged data (invalid_file), for data that grows far beyond what text does (invalid_file), and for a
/// file that becomes shorter meanwhile (io).
class Unpacker {
 public:
  /// `source` is not needed afterwards, but what its bytes are kept by is.
  explicit Unpacker(const Source& source);
  Unpacker(Unpacker&&) noexcept;
  Unpacker& operator=(Unpacker&&) noexcept;
  ~Unpacker();

  /// Fills `into`; fewer bytes are the last ones.
  std::size_t read(std::span<std::byte> into);
  bool done() const;
  std::size_t taken() const;  // of the file's bytes
  std::size_t size() const;   // of the file
  std::size_t limit() const;  // the content is at most that long

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Unpacked {
  Buffer<std::byte> memory;
  std::size_t size;  // of it, what is filled
  std::span<const std::byte> bytes() const { return {memory.data(), size}; }
};
/// All of it.
Unpacked unpack_all(const Source& source, const Progress& progress);

}  // namespace weft::io
