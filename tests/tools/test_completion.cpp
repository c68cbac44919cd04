// Completion in the shells, and the manual page.
#include "command_runner.hpp"

namespace weft::test {
namespace {

/// The first words of the lines that the scripts of the shells read.
std::vector<std::string> offered(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  const Outcome outcome = run_weft(words);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> found;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) found.push_back(line.substr(0, line.find('\t')));
  return found;
}

using Words = std::vector<std::string>;

TEST(completion, offers_commands_options_and_values) {
  EXPECT_EQ(offered({"tr"}), Words{"train"});
  EXPECT_EQ(offered({"--ver"}), Words{"--version"});
  EXPECT_EQ(offered({"help", "be"}), Words{"bench"});
  EXPECT_EQ(offered({"train", "--mod"}), Words{"--model"});
  EXPECT_EQ(offered({"train", "--model", "g"}), (Words{"gcn", "gin", "gat", "gatv2"}));
  EXPECT_EQ(offered({"train", "--model=s"}), Words{"--model=sage"});
  EXPECT_EQ(offered({"train", "--no-res"}), Words{"--no-residual"});
  EXPECT_EQ(offered({"train", "--device", ""}), (Words{"cpu", "cuda"}));
  EXPECT_EQ(offered({"bench", "s"}), (Words{"spmm", "sddmm", "spmv", "softmax", "segment"}));
  EXPECT_EQ(offered({"bench", "spmm", "like:cor"}), (Words{"like:cora", "like:corafull", ":files"}));
  EXPECT_EQ(offered({"bench", "spmm", "like:cora", "--dtype", "f32,b"}), Words{"f32,bf16"});
  EXPECT_EQ(offered({"bench", "spmm", "--width", "8", "karate", "kar"}), (Words{"karate", ":files"}));
  EXPECT_EQ(offered({"train", "--data", "cit"}), (Words{"citations", ":files"}));
  EXPECT_EQ(offered({"train", "--save", ""}), Words{":files"});
}

TEST(completion, does_not_offer_an_option_twice_but_one_that_may_repeat) {
  EXPECT_EQ(offered({"train", "--lr", "1", "--lr"}), Words{});
  EXPECT_EQ(offered({"bench", "spmm", "karate", "--policy", "tasks=1", "--pol"}), Words{"--policy"});
}

TEST(completion, survives_words_that_mean_nothing) {
  for (const Words& words : {Words{}, Words{""}, Words{"nothing", ""}, Words{"train", "--nothing", "x"},
                             Words{"train", "--nothing=x"}, Words{"doctor", "a", "b", ""}})
    offered(words);
}

/// What a shell prints for a script; the command's folder comes first in its PATH.
std::string run_shell(const std::string& shell, const std::string& script) {
  const Folder folder;
  write_text(folder / "script", script);
  const std::string bin = std::filesystem::path(WEFT_COMMAND).parent_path().string();
  const std::string line =
      "PATH='" + bin + "':\"$PATH\" " + shell + " " + (folder / "script") + " > " + (folder / "out") + " 2>&1";
  EXPECT_EQ(std::system(line.c_str()), 0) << text_of(folder / "out");
  return text_of(folder / "out");
}

bool has(const std::string& program) { return std::system(("command -v " + program + " >/dev/null").c_str()) == 0; }

TEST(completion, works_in_bash) {
  if (!has("bash")) GTEST_SKIP() << "this machine has no bash";
  const std::string functions =
      "source <(weft completion bash)\n"
      "try() { COMP_LINE=$1; COMP_POINT=${#1}; _weft; echo \"${COMPREPLY[*]}\"; }\n";
  EXPECT_EQ(
      run_shell("bash", functions + "try 'weft tr'\ntry 'weft train --mod'\ntry 'weft train --model g'\n"
                                    "try 'weft train --model=s'\ntry 'weft bench spmm like:cora'\ncomplete -p weft\n"),
      "train\n--model\ngcn gin gat gatv2\nsage\ncora corafull\ncomplete -F _weft weft\n");
}

TEST(completion, works_in_fish) {
  if (!has("fish")) GTEST_SKIP() << "this machine has no fish";
  EXPECT_EQ(
      run_shell("fish --no-config",
                "weft completion fish | source\ncomplete -C 'weft train --model g' | string split -f1 \\t\nexit 0\n"),
      "gat\ngatv2\ngcn\ngin\n");
}

TEST(completion, script_for_zsh_is_one_that_zsh_understands) {
  if (!has("zsh")) GTEST_SKIP() << "this machine has no zsh";
  EXPECT_EQ(run_shell("zsh -f",
                      "autoload -Uz compinit && compinit -u -D\nsource <(weft completion zsh)\n"
                      "echo $_comps[weft]\n"),
            "_weft\n");
}

TEST(manual_page, has_every_command_and_option) {
  const std::string page = run_weft({"manpage"}).out;
  for (const std::string part : {".TH WEFT 1", ".SS weft train", ".SS weft doctor", "\\-\\-weight\\-decay X",
                                 "\\-\\-optimizer for \\-\\-optimiser", ".SH \"EXIT STATUS\""})
    EXPECT_NE(page.find(part), page.npos) << part;
}

TEST(manual_page, is_without_a_warning_from_groff) {
  if (!has("groff")) GTEST_SKIP() << "this machine has no groff";
  const std::string said = run_shell("bash", "weft manpage | groff -man -Tutf8 -ww 2>&1 >/dev/null\n");
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace weft::test
