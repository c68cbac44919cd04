// weft completion and weft manpage: files for the shell and for man, which installing puts in place.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <array>
#include <memory>

#include "command.hpp"
#include "core/names.hpp"
#include "manpage.hpp"
#include "options.hpp"

namespace weft::tool {
namespace {

enum class Shell { bash, zsh, fish };
constexpr NameTable<Shell, 3> shell_names{{{Shell::bash, "bash"}, {Shell::zsh, "zsh"}, {Shell::fish, "fish"}}};

// Words are split at blanks only, as bash's own splitting breaks like:cora and --model=gcn apart; for the same reason
// an answer leaves out what stands before the last colon or equals sign.
constexpr const char* bash_script = R"(# bash completion for weft
_weft() {
  local before=${COMP_LINE:0:COMP_POINT} words=() current word meaning
  read -r -a words <<<"$before"
  [[ $before == *[[:space:]] ]] && words+=("")
  current=${words[${#words[@]}-1]}
  local tail=${current##*[:=]}
  local head=${current%"$tail"}
  COMPREPLY=()
  while IFS=$'\t' read -r word meaning; do
    if [[ $word == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$tail")
    else
      COMPREPLY+=("${word#"$head"}")
    fi
  done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _weft weft
)";

constexpr const char* zsh_script = R"(#compdef weft
_weft() {
  local -a candidates
  local line files=0
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=1
    else
      candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done < <(${(Q)~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#candidates )) && _describe -o weft candidates
  (( files )) && { compset -P '*='; _files }
}
if [[ $funcstack[1] == _weft ]]; then _weft "$@"; else compdef _weft weft; fi
)";

constexpr const char* fish_script = R"(# fish completion for weft
function __weft_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete -c weft -f -a '(__weft_complete)'
)";

const char* script_of(Shell shell) {
  return shell == Shell::bash ? bash_script : shell == Shell::zsh ? zsh_script : fish_script;
}

}  // namespace

Command add_completion(CLI::App& root) {
  auto shell = std::make_shared<std::string>();
  CLI::App* app = root.add_subcommand("completion", "Print a script that completes weft's commands in a shell");
  app->add_option("SHELL", *shell, "The shell")->type_name("bash|zsh|fish")->required();
  app->footer(
      "Example:\n"
      "  weft completion fish | source       in ~/.config/fish/config.fish\n"
      "  source <(weft completion bash)      in ~/.bashrc; zsh likewise\n\n"
      "An installed weft has these scripts where the shells look for them.");
  return {app, [shell] {
            const Shell which = as_usage("SHELL", [&] { return parse_in(shell_names, "shell", *shell); });
            std::fputs(script_of(which), stdout);
            return 0;
          }};
}

Command add_manpage(CLI::App& root) {
  CLI::App* app = root.add_subcommand("manpage", "Print the manual page weft(1)")->group("");
  app->footer("Example:\n  weft manpage | man -l -");
  return {app, [&root] {
            std::fputs(manual_page(root).c_str(), stdout);
            return 0;
          }};
}

}  // namespace weft::tool
