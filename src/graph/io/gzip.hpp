// Writing gzip. A file may be several members one after the other, which is what writing on all cores gives.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft::io {

bool is_gzip(std::span<const std::byte> bytes);

/// One complete member.
std::string gzip_member(std::string_view text);

}  // namespace weft::io
