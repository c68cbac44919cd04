// Sets the checksums of a container right after its bytes were changed, so that a fuzzed reader gets past them to the
// code behind. Everything is done in place: no byte but those of checksums changes, and whatever the bytes claim, none
// outside them is touched. What is no whole container stays as it is.
#pragma once

#include <cstddef>
#include <span>

namespace weft::test {

/// A .weft file, a zip archive, a file packed with gzip, bzip2, xz or zstd, a model or checkpoint, or a bundle of such
/// files; which one, the content tells.
void mend(std::span<std::byte> bytes);

/// The checksum of every section that lies inside the file, then that of the header.
void mend_weft(std::span<std::byte> bytes);
/// The CRC-32 of every stored or deflated member, in the central directory and in front of the member. Archives with
/// 64-bit sizes stay as they are.
void mend_zip(std::span<std::byte> bytes);
/// The CRC-32 and the size behind every member, and the CRC-16 of a member's header where it has one.
void mend_gzip(std::span<std::byte> bytes);
/// The CRC-32 of every block's content, and what follows from them at the end of a stream.
void mend_bzip2(std::span<std::byte> bytes);
/// The CRC-32 of headers, index and footer, and the CRC-32 or CRC-64 of every block's content.
void mend_xz(std::span<std::byte> bytes);
/// The checksum of every frame's content where it has one.
void mend_zstd(std::span<std::byte> bytes);
/// Whether a header starts as that of a model or checkpoint does, with its checksum first.
bool is_safetensors(std::span<const std::byte> bytes);
/// The checksum of the header and of every tensor that lies inside the file.
void mend_safetensors(std::span<std::byte> bytes);

}  // namespace weft::test
