// Datasets that need no file: wherever a command takes DATA, it takes their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/dataset.hpp"

namespace weft::builtin {

/// NAME or NAME:key=value,...; an Error as of a generator's SPEC for options that are wrong.
Dataset make(std::string_view text, const ReadOptions& options = {});

// One file each; `given` is what stands behind the colon.
Dataset karate(std::string_view given, const ReadOptions& options);
std::string karate_form();
Dataset citations(std::string_view given, const ReadOptions& options);
std::string citations_form();

}  // namespace weft::builtin
