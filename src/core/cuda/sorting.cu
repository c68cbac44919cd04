#include "core/cuda/sorting.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "core/loops/cuda/each.cuh"

namespace weft::cuda {
namespace {

template <class Key, class Value>
cudaError_t run_sort(Scratch& scratch, const SortedPairs<Key, Value>& p, CUstream_st* stream) {
  return cub::DeviceRadixSort::SortPairs(scratch.data, scratch.bytes, p.keys, p.sorted_keys, p.values, p.sorted_values,
                                         p.count, 0, p.bits, stream);
}

cudaError_t run_sum(Scratch& scratch, Sums which, const std::int64_t* from, std::int64_t* sums, std::int64_t count,
                    CUstream_st* stream) {
  return which == Sums::exclusive
             ? cub::DeviceScan::ExclusiveSum(scratch.data, scratch.bytes, from, sums, count, stream)
             : cub::DeviceScan::InclusiveSum(scratch.data, scratch.bytes, from, sums, count, stream);
}

/// `call(scratch)` twice: for its bytes, and with them.
template <class Call>
void with_scratch(Device device, CUstream_st* stream, const char* doing, const Call& call) {
  const OnDevice on(device.index);
  Scratch scratch;
  check_status(call(scratch), doing);
  const DeviceBuffer memory(device, stream, scratch.bytes, doing);
  scratch.data = memory.data();
  check_status(call(scratch), doing);
}

struct CountUp {
  std::int32_t* numbers;
  __device__ void operator()(std::int64_t i) const { numbers[i] = static_cast<std::int32_t>(i); }
};

}  // namespace

template <class Key, class Value>
void sort_pairs(Device device, CUstream_st* stream, const char* doing, const SortedPairs<Key, Value>& pairs) {
  with_scratch(device, stream, doing, [&](Scratch& scratch) { return run_sort(scratch, pairs, stream); });
}

template <class Key, class Value>
void sort_pairs(Device device, CUstream_st* stream, const char* doing, const SortedPairs<Key, Value>& pairs,
                Scratch scratch) {
  const OnDevice on(device.index);
  check_status(run_sort(scratch, pairs, stream), doing);
}

template <class Key, class Value>
std::size_t sort_bytes(Device device, std::int64_t count, int bits) {
  const OnDevice on(device.index);
  Scratch scratch;
  const SortedPairs<Key, Value> pairs{nullptr, nullptr, nullptr, nullptr, count, bits};
  check_status(run_sort(scratch, pairs, nullptr), "asking what a sort takes");
  return scratch.bytes;
}

template <class Key, class Value>
int sort_between(Device device, CUstream_st* stream, const char* doing, Key* const keys[2], Value* const values[2],
                 std::int64_t count, int bits) {
  cub::DoubleBuffer<Key> keys_now(keys[0], keys[1]);
  cub::DoubleBuffer<Value> values_now(values[0], values[1]);
  with_scratch(device, stream, doing, [&](Scratch& scratch) {
    return cub::DeviceRadixSort::SortPairs(scratch.data, scratch.bytes, keys_now, values_now, count, 0, bits, stream);
  });
  return keys_now.selector;  // both move together
}

SummedKeys sum_by_key(Device device, CUstream_st* stream, const char* doing, std::uint64_t* const keys[2],
                      std::int64_t* const values[2], std::int64_t count, int bits) {
  cub::DoubleBuffer<std::uint64_t> keys_now(keys[0], keys[1]);
  cub::DoubleBuffer<std::int64_t> values_now(values[0], values[1]);
  with_scratch(device, stream, doing, [&](Scratch& scratch) {
    return cub::DeviceRadixSort::SortPairs(scratch.data, scratch.bytes, keys_now, values_now, count, 0, bits, stream);
  });
  const DeviceBuffer found(device, stream, sizeof(std::int64_t), doing);
  with_scratch(device, stream, doing, [&](Scratch& scratch) {
    return cub::DeviceReduce::ReduceByKey(scratch.data, scratch.bytes, keys_now.Current(), keys_now.Alternate(),
                                          values_now.Current(), values_now.Alternate(), as<std::int64_t>(found),
                                          ::cuda::std::plus<>{}, count, stream);
  });
  SummedKeys result{0, 1 - keys_now.selector};
  copy_bytes(Device{}, &result.count, device, found.data(), sizeof result.count, stream);
  return result;
}

void add_up(Device device, CUstream_st* stream, const char* doing, Sums which, const std::int64_t* from,
            std::int64_t* sums, std::int64_t count) {
  with_scratch(device, stream, doing,
               [&](Scratch& scratch) { return run_sum(scratch, which, from, sums, count, stream); });
}

void add_up(Device device, CUstream_st* stream, const char* doing, Sums which, const std::int64_t* from,
            std::int64_t* sums, std::int64_t count, Scratch scratch) {
  const OnDevice on(device.index);
  check_status(run_sum(scratch, which, from, sums, count, stream), doing);
}

void count_flags(Device device, CUstream_st* stream, const char* doing, const std::uint8_t* flags,
                 std::uint32_t* before, std::int64_t count) {
  with_scratch(device, stream, doing, [&](Scratch& scratch) {
    return cub::DeviceScan::ExclusiveScan(scratch.data, scratch.bytes, flags, before, ::cuda::std::plus<>{},
                                          std::uint32_t{0}, count, stream);
  });
}

std::size_t add_up_bytes(Device device, std::int64_t count) {
  const OnDevice on(device.index);
  Scratch exclusive, inclusive;
  constexpr const char* doing = "asking what a prefix sum takes";
  check_status(run_sum(exclusive, Sums::exclusive, nullptr, nullptr, count, nullptr), doing);
  check_status(run_sum(inclusive, Sums::inclusive, nullptr, nullptr, count, nullptr), doing);
  return exclusive.bytes > inclusive.bytes ? exclusive.bytes : inclusive.bytes;
}

void count_up(Device device, CUstream_st* stream, const char* doing, std::int32_t* numbers, std::int64_t count) {
  const OnDevice on(device.index);
  each(count, stream, doing, CountUp{numbers});
}

using ByWord = SortedPairs<std::uint32_t, std::int32_t>;
using ByHalfWord = SortedPairs<std::uint16_t, std::int32_t>;
template void sort_pairs(Device, CUstream_st*, const char*, const ByWord&);
template void sort_pairs(Device, CUstream_st*, const char*, const ByWord&, Scratch);
template std::size_t sort_bytes<std::uint32_t, std::int32_t>(Device, std::int64_t, int);
template void sort_pairs(Device, CUstream_st*, const char*, const ByHalfWord&);
#define WEFT_SORT_BETWEEN(KEY, VALUE) \
  template int sort_between(Device, CUstream_st*, const char*, KEY* const[2], VALUE* const[2], std::int64_t, int);
WEFT_SORT_BETWEEN(std::uint32_t, std::uint32_t)
WEFT_SORT_BETWEEN(std::uint32_t, std::uint64_t)
WEFT_SORT_BETWEEN(std::uint64_t, std::uint32_t)

}  // namespace weft::cuda
