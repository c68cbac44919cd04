// The first inputs of the targets that read models, checkpoints and specs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft::test {

/// Every file is written to `path`, from where `put` takes it; texts are handed over.
void write_models(const std::string& path, const std::function<void(const char* format, const std::string& name)>& put,
                  const std::function<void(const char*, const std::string&, std::string_view)>& put_text);

}  // namespace weft::test
