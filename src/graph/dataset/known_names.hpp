// Datasets people know by name, and where their projects publish them. weft downloads nothing itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

/// For comparing: lower case, '_' as '-'.
std::string plain_name(std::string_view name);

std::vector<std::string_view> known_names();
/// What its files are called where it is published, if that is not its name: "ms_academic_cs" for coauthor-cs.
std::string_view published_as(std::string_view name);
/// What to download, and where to put it below `folder`; empty for a name nobody knows.
std::string where_to_get(std::string_view name, const std::string& folder);

}  // namespace weft::io
