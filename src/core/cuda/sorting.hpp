// Sorts and prefix sums on a device: CUB's, compiled once. Work goes into the stream.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"

namespace weft::cuda {

/// So many low bits tell keys from 0 to `most` apart.
constexpr int bits_for(std::int64_t most) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most > 0 ? most : 0)));
  return bits > 0 ? bits : 1;
}

template <class T>
T* as(const DeviceBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

/// Memory that a call works in, where its caller keeps it for calls that ask for none.
struct Scratch {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Keys (u32 or u16) and the values (i32) that go with them.
template <class Key, class Value>
struct SortedPairs {
  const Key* keys;
  const Value* values;
  Key* sorted_keys;
  Value* sorted_values;
  std::int64_t count;
  int bits;  // low ones of a key that tell them apart
};
/// In ascending order of keys; values of one key stay in order.
template <class Key, class Value>
void sort_pairs(Device device, CUstream_st* stream, const char* doing, const SortedPairs<Key, Value>& pairs);
template <class Key, class Value>
void sort_pairs(Device device, CUstream_st* stream, const char* doing, const SortedPairs<Key, Value>& pairs,
                Scratch scratch);
template <class Key, class Value>
std::size_t sort_bytes(Device device, std::int64_t count, int bits);

/// The same between two copies of keys and of values, the first of which hold them: less memory than sort_pairs takes.
/// Keys and values are u32 or u64, but not both of them u64. Gives the copy, 0 or 1, that then holds the result.
template <class Key, class Value>
int sort_between(Device device, CUstream_st* stream, const char* doing, Key* const keys[2], Value* const values[2],
                 std::int64_t count, int bits);

/// Values added up by key, between two copies of keys and of values, the first of which hold `count` pairs. Keys then
/// ascend, each once, in the copy that is given with their number; waits for it.
struct SummedKeys {
  std::int64_t count;
  int copy;
};
WEFT_LAUNCHER(SummedKeys sum_by_key(Device device, CUstream_st* stream, const char* doing, std::uint64_t* const keys[2],
                                    std::int64_t* const values[2], std::int64_t count, int bits));

/// sums[i] = what is in front of i, and with `inclusive` i as well, added up. In place, too.
enum class Sums { exclusive, inclusive };
void add_up(Device device, CUstream_st* stream, const char* doing, Sums which, const std::int64_t* from,
            std::int64_t* sums, std::int64_t count);
void add_up(Device device, CUstream_st* stream, const char* doing, Sums which, const std::int64_t* from,
            std::int64_t* sums, std::int64_t count, Scratch scratch);
std::size_t add_up_bytes(Device device, std::int64_t count);
/// before[i]: of flags, 0 or 1 each, how many in front of the i-th are set; fewer than 2^32.
WEFT_LAUNCHER(void count_flags(Device device, CUstream_st* stream, const char* doing, const std::uint8_t* flags,
                               std::uint32_t* before, std::int64_t count));

/// numbers[i] = i
WEFT_LAUNCHER(void count_up(Device device, CUstream_st* stream, const char* doing, std::int32_t* numbers,
                            std::int64_t count));

}  // namespace weft::cuda
