#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "graph/io/byte_order.hpp"
#include "graph/io/checksum.hpp"
#include "mend.hpp"

namespace weft::test {
namespace {

constexpr std::size_t length_bytes = sizeof(std::uint64_t), digits = 8;
constexpr std::string_view start = R"({"__metadata__":{"weft.checksum":")";

std::string hex(std::span<const std::byte> bytes) { return fmt::format("{:08x}", io::checksum(bytes)); }

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// Where the header says that tensors lie, in the order of the data; those that are not inside of it are left out.
std::vector<Range> ranges_of(std::string_view header, std::size_t data_bytes) {
  std::vector<Range> ranges;
  const auto json = nlohmann::json::parse(header.begin(), header.end(), nullptr, false);
  if (!json.is_object()) return ranges;
  for (const auto& tensor : json) {
    if (!tensor.is_object() || !tensor.contains("data_offsets")) continue;
    const auto& offsets = tensor["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2) continue;
    if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) continue;
    const Range range(offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>());
    if (range.first <= range.second && range.second <= data_bytes) ranges.push_back(range);
  }
  std::ranges::sort(ranges);
  return ranges;
}

}  // namespace

bool is_safetensors(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.size() >= length_bytes + start.size() + digits && text.substr(length_bytes).starts_with(start);
}

void mend_safetensors(std::span<std::byte> bytes) {
  if (!is_safetensors(bytes)) return;
  const auto length = io::load<std::uint64_t>(bytes.data());
  if (length < start.size() + digits || length > bytes.size() - length_bytes) return;
  const auto head = bytes.first(length_bytes + static_cast<std::size_t>(length));
  const auto data = bytes.subspan(head.size());
  const auto place = head.subspan(length_bytes + start.size(), digits);
  std::ranges::fill(place, std::byte{'0'});
  std::string all(reinterpret_cast<const char*>(head.data()), head.size());
  for (const auto& [begin, end] : ranges_of(std::string_view(all).substr(length_bytes), data.size()))
    all += hex(data.subspan(begin, end - begin));
  const std::string sum = hex(std::as_bytes(std::span(all)));
  std::ranges::copy(std::as_bytes(std::span(sum)), place.begin());
}

}  // namespace weft::test
