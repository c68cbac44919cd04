// Exit statuses and messages: 0 done, 1 failed, 2 wrong usage, one line each.
#include "command_runner.hpp"

namespace weft::test {
namespace {

const std::vector<std::string> subcommands{"doctor", "info", "convert", "generate", "reorder",   "explain",
                                           "bench",  "tune", "train",   "infer",    "completion"};

TEST(usage, version_is_one_line_and_done) {
  const Outcome outcome = run_weft({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("weft 0.", 0), 0u) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
}

TEST(usage, help_lists_every_command_and_nothing_else) {
  const Outcome outcome = run_weft({"--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const std::string& name : subcommands) EXPECT_NE(outcome.out.find("\n  " + name), std::string::npos) << name;
  EXPECT_EQ(outcome.out.find("\n  partition"), std::string::npos);
}

TEST(usage, help_fits_eighty_columns) {
  std::vector<std::string> names = subcommands;
  names.emplace_back();
  for (const std::string& name : names) {
    std::istringstream lines(
        run_weft(name.empty() ? std::vector<std::string>{"--help"} : std::vector<std::string>{name, "--help"}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << name << ": " << line;
  }
}

TEST(usage, every_command_answers_help_with_an_example) {
  for (const std::string& name : subcommands) {
    const Outcome outcome = run_weft({name, "--help"});
    EXPECT_EQ(outcome.status, 0) << name;
    EXPECT_NE(outcome.out.find("Example:\n  weft " + name), std::string::npos) << outcome.out;
  }
}

TEST(usage, help_may_be_asked_for_with_a_word) {
  EXPECT_EQ(run_weft({"help"}).out, run_weft({"--help"}).out);
  EXPECT_EQ(run_weft({"help"}).status, 0);
  for (const std::string& name : subcommands) {
    EXPECT_EQ(run_weft({"help", name}).out, run_weft({name, "--help"}).out);
    EXPECT_EQ(run_weft({"help", name}).status, 0);
  }
}

TEST(usage, wrong_command_lines_end_with_two_and_a_hint) {
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const std::vector<Case> cases{
      {{}, "--help"},
      {{}, "no command was given: commands are doctor, info, convert, generate, reorder, explain, bench"},
      {{"frobnicate"}, "--help"},
      {{"frobnicate"}, "unknown command 'frobnicate': commands are doctor, info"},
      {{"benhc", "spmm"}, "unknown command 'benhc': did you mean bench? commands are"},
      {{"--frobnicate"}, "--help"},
      {{"--versoin"}, "unknown option '--versoin': did you mean --version?"},
      {{"help", "benhc"}, "unknown command 'benhc': did you mean bench?"},
      {{"--json", "info", "star:nodes=5"}, "option '--json' stands in front of the command it belongs to: put it"},
      {{"--json", "info", "star:nodes=5"}, "behind, as in weft info ... --json (see weft info --help)"},
      {{"--width=8", "bench", "spmm", "star:nodes=5"}, "option '--width=8' stands in front of the command"},
      {{"-o", "x.weft", "generate", "star:nodes=5"}, "option '-o' stands in front of the command"},
      {{"--jsno", "info", "star:nodes=5"}, "unknown option '--jsno': did you mean --json?"},
      {{"info"}, "weft info --help"},
      {{"info", ""}, "weft: the graph's path is empty: expected a graph file or something like rmat:"},
      {{"convert", "", "x.weft"}, "weft: the graph's path is empty"},
      {{"info", "RMAT:scale=4"}, "did you mean rmat:scale=4?"},
      {{"info", "STAR"}, "the generator 'star' takes its parameters behind a colon"},
      {{"info"}, "DATA is missing: a graph or dataset"},
      {{"info", "a", "b"}, "weft info --help"},
      {{"info", "a", "b"}, "argument 'b' is one too many"},
      {{"info", "star:nodes=5", "--jsno"}, "unknown option '--jsno': did you mean --json?"},
      {{"info", "star"}, "'star' is no file: the generator 'star' takes its parameters behind a colon, as in"},
      {{"info", "citations:frobs=3"}, "frobs"},
      {{"info", "Rmat:scale=3"}, "did you mean rmat:scale=3?"},
      {{"info", "like:arxvi"}, "like: dataset 'arxvi' is not known: did you mean arxiv? expected one of aifb"},
      {{"info", "star:nodes=5", "--frobnicate"}, "--frobnicate"},
      {{"info", "rmat:frobnicate=1"}, "frobnicate"},
      {{"info", "star:nodes=abc"}, "abc"},
      {{"info", "like:nothing-of-this-name"}, "nothing-of-this-name"},
      {{"convert", "star:nodes=5"}, "weft convert --help"},
      {{"convert", "star:nodes=5", "x.frob"}, ".weft"},
      {{"convert", "star:nodes=5", "x.weft", "--self-loops", "maybe"}, "maybe"},
      {{"convert", "star:nodes=5", "x.weft", "--self-loops", "maybe"}, "expected one of keep, add, remove"},
      {{"convert", "star:nodes=5", "x.weft", "--self-loops"}, "--self-loops has no value: what becomes of"},
      {{"generate"}, "SPEC"},
      {{"generate", "star:nodes=5"}, "-o"},
      {{"generate", "star"},
       "SPEC 'star' is not valid: the generator 'star' takes its parameters behind a colon, as in star:nodes=100000"},
      {{"generate", "like", "-o", "x.weft"}, "as in like:cora"},
      {{"generate", "rmta:scale=3", "-o", "x.weft"}, "did you mean rmat:scale=3?"},
      {{"generate", "rmat:scale=99", "-o", "x.weft"}, "weft: rmat: scale=99 is out of range: expected 1 to 30"},
      {{"generate", "rmat:scale=-1", "-o", "x.weft"}, "weft: rmat: scale=-1 is out of range: expected 1 to 30"},
      {{"generate", "rmat:scale=abc", "-o", "x.weft"}, "weft: rmat: scale='abc' is not valid: expected a whole number"},
      {{"generate", "star:nodes=5", "x.weft"}, "argument 'x.weft' is one too many"},
      {{"generate", "nothing:nodes=5", "-o", "x.weft"}, "nothing:nodes=5"},
      {{"generate", "nothing:nodes=5", "-o", "x.weft"}, "weft generate --list"},
      {{"generate", "star:nodes=5", "-o", "x.frob"}, ".weft"},
      {{"explain", "spmm", "star:nodes=5"}, "--width"},
      {{"explain", "spmm", "star:nodes=5", "--width", "16,32"}, "16,32"},
      {{"explain", "softmax", "star:nodes=5", "--width", "8"}, "--heads"},
      {{"explain", "spmm", "star:nodes=5", "--width", "1048576", "--heads", "2"}, "2097152"},
      {{"explain", "frob", "star:nodes=5", "--width", "8"}, "frob"},
      {{"explain", "spmm", "star:nodes=5", "--width", "8", "--policy", "frob=1"}, "frob"},
      {{"explain", "spmm", "star:nodes=5", "--width", "8", "--policy", "frob=1"}, "expected one of schedule, tasks"},
      {{"explain", "frob"}, "OP: operator 'frob' is not known: expected one of spmm, sddmm"},
      {{"explain", "spmm"}, "GRAPH is missing: a graph: a file, folder or name"},
      {{"explain", "attention", "star:nodes=5", "--width", "8", "--reduce", "max"}, "--reduce is 'max': only spmm"},
      {{"explain", "attention", "star:nodes=5", "--width", "8", "--unweighted"}, "--unweighted: attention has no"},
      {{"explain", "spmm", "star:nodes=5", "--width", "8", "--backward"}, "--backward: spmm plans its gradients"},
      {{"bench", "frob"}, "OP: operator 'frob' is not known: expected one of spmm, sddmm"},
      {{"bench", "like:cora", "--width", "8"}, "OP: operator 'like:cora' is not known"},
      {{"bench"}, "OP is missing: the operator: spmm, sddmm"},
      {{"bench", "spmm", "star:nodes=5", "--width"}, "--width has no value: features per node"},
      {{"bench", "spmm", "star:nodes=5", "--widht", "8"}, "unknown option '--widht': did you mean --width?"},
      {{"bench", "spmm"}, "GRAPH"},
      {{"bench", "spm", "star:nodes=5", "--width", "8"}, "OP: operator 'spm' is not known: did you mean spmm?"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--reduce", "summ"}, "did you mean sum?"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--policy", "taks=4"}, "did you mean tasks?"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--policy", "tasks=4,tasks=5"}, "tasks is given twice"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--width", "16"}, "--width is given twice, as '8' and '16'"},
      {{"info", "rmat:sclae=4"}, "rmat: key 'sclae' is not known: did you mean scale?"},
      {{"train", "--dta", "citations", "--model", "gcn"}, "unknown option '--dta': did you mean --data? (see weft"},
      {{"train", "--data", "citations", "--modle", "gcn"}, "unknown option '--modle': did you mean --model? (see"},
      {{"train", "--data", "citations", "--optimzer", "sgd"}, "unknown option '--optimzer': did you mean --optimiser?"},
      {{"train", "citations", "--model", "gcn"}, "'citations' belongs to no option: did you mean --data citations?"},
      {{"train", "--data", "citations"}, "--model is missing: the model: gcn, sage, gin, gat or gatv2 (see"},
      {{"train", "--data", "karate", "--model", "gncc"}, "model 'gncc' is not known: did you mean gcn? expected one"},
      {{"train", "--data", "karate", "--model", "grahpsage"}, "did you mean sage?"},
      {{"train", "--data", "karate", "--model", "gcn", "--optimiser", "amad"}, "did you mean adam?"},
      {{"train", "--data", "karate", "--model", "gcn", "--sampler", "neigbor"}, "did you mean neighbour?"},
      {{"train", "--data", "karate", "--model", "gcn", "--lr", "0.1", "--lr", "0.2"},
       "--lr is given twice, as '0.1' and '0.2': expected it once"},
      {{"train", "--data", "karate", "--model", "gcn", "--lr", "1", "--lr", "2", "--learning-rate", "3"},
       "--lr is given 3 times, as '1' and '2' and '3'"},
      {{"train", "--data", "karate", "--model", "gcn", "--residual", "--no-residual"},
       "--residual and --no-residual are both given"},
      {{"train", "--data", "karate", "--model", "sage", "--sampler", "neighbor", "--fanout", "5,0"},
       "--fanout is '0': expected 1 to 4096 neighbours, or -1 for all"},
      {{"train", "--data", "karate", "--model", "gcn", "--epochs", "5", "--epochs"},
       "--epochs is given twice, as '5' and without a value: expected it once (see"},
      {{"train", "--data", "karate", "--model", "gcn", "--epochs", "5", "--epochs", "--quiet"},
       "--epochs has no value: the option --quiet follows it (see"},
      {{"train", "--data", "karate", "--model", "gcn", "--epochs", "--epochs", "5"},
       "--epochs has no value: the option --epochs follows it (see"},
      {{"train", "--data", "karate", "--model", "gcn", "--epochs", "--lr=1"},
       "--epochs has no value: the option --lr=1 follows it (see"},
      {{"train", "--data", "--model", "gcn"}, "--data has no value: the option --model follows it (see"},
      {{"train", "--data", "karate", "--model", "gat2"}, "model 'gat2' is not known: did you mean gatv2?"},
      {{"train", "--data", "karate", "--model", "gcn", "--device", "gpuu"},
       "device 'gpuu' is not known: did you mean cuda?"},
      {{"train", "--data", "karate", "--model", "gcn", "--directed", "--undirected"}, "--directed and --undirected"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--policy", "tasks=3", "--policy"},
       "--policy has no value: values"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--device", "cpu", "--policy", "tasks=3", "--policy",
        "tasks=3,order=columns"},
       "policy key order applies to --device cuda only: keys of the CPU are schedule, tasks, prefetch, assignment "
       "(see"},
      {{"explain", "spmm", "star:nodes=5", "--width", "8", "--device", "cpu", "--policy", "edges=64"},
       "policy key edges applies to --device cuda only: keys of the CPU are schedule, tasks, prefetch, assignment "
       "(see"},
      {{"completion", "bsh"}, "shell 'bsh' is not known: did you mean bash?"},
      {{"bench", "spmm", "star:nodes=5"}, "--width"},
      {{"bench", "spmm", "star:nodes=5", "--width", "0"}, "'0'"},
      {{"bench", "spmm", "star:nodes=5", "--width", "-4"}, "-4"},
      {{"bench", "spmm", "star:nodes=5", "--width", "abc"}, "'abc'"},
      {{"bench", "spmm", "star:nodes=5", "--width", "16,,32"}, "empty"},
      {{"bench", "spmm", "star:nodes=5", "--width", "99999999999999999999"}, "99999999999999999999"},
      {{"bench", "frob", "star:nodes=5", "--width", "8"}, "frob"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--dtype", "f8"}, "f8"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--dtype", "f17"},
       "'f17' is not known: did you mean f16? expected one of f32, f16, bf16, f64"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--dtype", "i32"}, "i32"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--device", "tpu"}, "tpu"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--heads", "0"}, "--heads"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--threads", "many"}, "many"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--repeat", "x"}, "--repeat"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--op", "gat"}, "gat"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--op", "u_mul_e", "--unweighted"}, "--unweighted"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--reduce", "median"}, "median"},
      {{"bench", "sddmm", "star:nodes=5", "--width", "8", "--reduce", "max"}, "--reduce"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--backward"}, "--backward: spmm is timed forward only"},
      {{"bench", "sddmm", "star:nodes=5", "--width", "8", "--linear", "8"}, "--linear is for the sums of spmm"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--linear", "8", "--reduce", "max"},
       "--linear takes --reduce"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--linear", "8", "--heads", "2"}, "--linear takes one head"},
      {{"bench", "spmm", "star:nodes=5", "--width", "8", "--linear", "no"}, "--linear is 'no'"},
      {{"bench", "attention", "star:nodes=5", "--width", "8", "--backward", "--subgraphs", "2"}, "--backward needs"},
      {{"bench", "spmv", "star:nodes=5", "--heads", "2"}, "spmm"},
      {{"bench", "softmax", "star:nodes=5", "--width", "8"}, "--heads"},
      {{"bench", "softmax", "star:nodes=5", "--op", "gat"}, "no variants"},
  };
  for (const Case& c : cases) {
    std::string line = "weft";
    for (const std::string& argument : c.arguments) line += " " + argument;
    SCOPED_TRACE(line);
    const Outcome outcome = run_weft(c.arguments);
    expect_complaint(outcome, 2, c.part);
    EXPECT_NE(outcome.err.find("--help)"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(usage, usual_spellings_are_understood_and_mean_the_same) {
  const auto result = [](std::vector<std::string> options) {
    std::vector<std::string> arguments{"train",  "--data", "citations:nodes=300", "--epochs", "2", "--quiet",
                                       "--json", "-"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = run_weft(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    auto json = outcome.json();
    return std::vector<nlohmann::json>{json["model"], json["epochs"][1]["loss"]};
  };
  EXPECT_EQ(result({"--model", "GraphSAGE", "--sampler", "neighbor", "--fanout", "-1", "--optimizer", "SGD",
                    "--learning_rate", "0.1", "--batch-size", "50", "--weight_decay=0.001", "--dtype", "float64",
                    "--no-normalize"}),
            result({"--model", "sage", "--sampler", "neighbour", "--fanout", "4096", "--optimiser", "sgd", "--lr",
                    "0.1", "--batch", "50", "--weight-decay", "0.001", "--dtype", "f64", "--no-normalise"}));
}

TEST(usage, train_help_has_the_defaults_of_every_model) {
  const std::string help = run_weft({"train", "--help"}).out;
  const auto row = [&](const std::string& option) {
    std::istringstream lines(help.substr(help.find("Defaults by model")));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> cells;
      for (std::string word; words >> word;) cells.push_back(word);
      if (!cells.empty() && cells.front() == option) return cells;
    }
    return std::vector<std::string>{};
  };
  using Row = std::vector<std::string>;
  EXPECT_EQ(row("gcn"), (Row{"gcn", "sage", "gin", "gat", "gatv2"}));
  EXPECT_EQ(row("--layers"), (Row{"--layers", "2", "2", "2", "2", "2"}));
  EXPECT_EQ(row("--hidden"), (Row{"--hidden", "16", "64", "64", "8", "8"}));
  EXPECT_EQ(row("--dropout"), (Row{"--dropout", "0.5", "0.5", "0.6", "0.6", "0.6"}));
  EXPECT_EQ(row("--lr"), (Row{"--lr", "0.01", "0.01", "0.005", "0.005", "0.005"}));
  EXPECT_EQ(row("--epochs"), (Row{"--epochs", "200", "200", "200", "1000", "1000"}));
  EXPECT_EQ(row("--self-loops"), (Row{"--self-loops", "yes", "no", "no", "yes", "yes"}));
  std::string words = help.substr(help.find("Also understood:"));
  for (std::size_t line_end; (line_end = words.find("\n  ")) != words.npos;) words.replace(line_end, 3, " ");
  EXPECT_NE(words.find("--symmetric for --undirected"), words.npos) << help;
  EXPECT_NE(words.find("--optimizer for --optimiser"), words.npos) << help;
}

TEST(usage, inputs_that_cannot_be_read_end_with_one_and_name_the_file) {
  const Folder folder;
  write_text(folder / "empty.mtx", "");
  write_text(folder / "noise.weft", "this is no graph, whatever its name says\n");
  write_text(folder / "cut.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 3\n1 1\n");
  std::filesystem::create_directory(folder / "folder");
  for (const std::string name : {"missing.weft", "empty.mtx", "noise.weft", "cut.mtx", "folder"}) {
    SCOPED_TRACE(name);
    const std::string path = folder / name, out = folder / "out.weft";
    expect_complaint(run_weft({"info", path}), 1, name);
    expect_complaint(run_weft({"info", path, "--fast"}), 1, name);
    expect_complaint(run_weft({"convert", path, out}), 1, name);
    expect_complaint(run_weft({"explain", "spmm", path, "--width", "8"}), 1, name);
    const Outcome bench = run_weft({"bench", "spmm", path, "--width", "8"});
    expect_complaint(bench, 1, name);
    EXPECT_EQ(bench.out.find("yes"), std::string::npos) << bench.out;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

TEST(usage, outputs_that_cannot_be_written_end_with_one) {
  const Folder folder;
  const std::string nowhere = folder / "no/such/folder/out";
  expect_complaint(run_weft({"generate", "star:nodes=5", "-o", nowhere + ".weft"}), 1, nowhere);
  expect_complaint(run_weft({"convert", "star:nodes=5", nowhere + ".mtx"}), 1, nowhere);
  expect_complaint(
      run_weft({"bench", "spmm", "star:nodes=5", "--width", "4", "--repeat", "1", "--json", nowhere + ".json"}), 1,
      nowhere);
  expect_complaint(
      run_weft({"bench", "spmm", "star:nodes=5", "--width", "4", "--repeat", "1", "--report", nowhere + ".html"}), 1,
      nowhere);
}

TEST(usage, outputs_are_tried_before_any_work) {
  const Folder folder;
  const std::string nowhere = folder / "no/such/folder/out", missing = folder / "missing.mtx";
  expect_complaint(run_weft({"convert", missing, nowhere + ".weft"}), 1, nowhere);
  expect_complaint(run_weft({"bench", "spmm", missing, "--width", "4", "--json", nowhere + ".json"}), 1, nowhere);
  expect_complaint(run_weft({"convert", missing, folder / "out.weft"}), 1, missing);
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

TEST(usage, a_full_standard_output_is_a_failure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  expect_complaint(run_weft({"info", "star:nodes=5"}, "/dev/full"), 1, "standard output");
}

TEST(usage, a_reader_that_goes_away_ends_the_command_quietly) {
  const Folder folder;
  const std::string errors = folder / "err";
  const std::string line = std::string(WEFT_COMMAND) + " generate --list 2>" + errors + " | true";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(text_of(errors), "");
}

TEST(usage, a_device_that_is_not_here_is_said_plainly) {
  const Outcome gpu = run_weft({"train", "--data", "karate", "--model", "gcn", "--device", "gpu:77"});
  expect_complaint(gpu, 1, "--device is 'gpu:77', but this ");
  EXPECT_EQ(gpu.err.find("asked for"), gpu.err.npos) << gpu.err;
  EXPECT_EQ(gpu.err.find("WEFT_CUDA"), gpu.err.npos) << gpu.err;
  const Outcome outcome = run_weft({"bench", "spmm", "star:nodes=5", "--width", "4", "--device", "cuda:77"});
  expect_complaint(outcome, 1, "cuda:77");
}

}  // namespace
}  // namespace weft::test
