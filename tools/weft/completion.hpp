// Completion of the command line in a shell. The scripts of all shells ask the command itself, so that what they offer
// is what it understands.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace weft::tool {

/// The word in front of the words to complete, instead of a command; for the scripts alone.
constexpr const char* complete_word = "__complete";

struct Completion {
  struct Candidate {
    std::string word, meaning;
  };
  std::vector<Candidate> candidates;
  bool files = false;  // paths are an answer as well
};
/// What the last word, which may be empty, may become. `words` come behind the program's name.
Completion complete(const CLI::App& root, const std::vector<std::string>& words);
/// A line for each candidate, a tab before its meaning; ":files" where paths are an answer.
std::string completion_lines(const Completion& completion);

}  // namespace weft::tool
