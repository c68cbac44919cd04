// The selector's table: as text and back, what is refused, and which one a plan takes.
#include "plan/selector/table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/errors.hpp"

namespace weft::test {
namespace {

SelectorTable some_table() {
  SelectorTable table{"NVIDIA H100 PCIe", "0123456789ab", "2026-01-02T03:04:05Z", {}};
  table.rows.push_back({Dtype::f16, 16, -3.5, 0.25, 1.75, 1e-17, 0.1, 0.9375, 400});
  table.rows.push_back({Dtype::bf16, 128, 2, -0.5, 3, 0, 0, 1, 12});
  table.rows.push_back({Dtype::f32, 64, -1.5, 0.5, 2.25, 0, 0.5, 0.875, 360});
  return table;
}

/// Sets variables of the environment and puts them back; unset where no value is given.
class Environment {
 public:
  void set(const char* variable, const std::string& value) {
    keep(variable);
    setenv(variable, value.c_str(), 1);
  }
  void unset(const char* variable) {
    keep(variable);
    unsetenv(variable);
  }
  ~Environment() {
    for (auto it = kept_.rbegin(); it != kept_.rend(); ++it)
      if (it->second)
        setenv(it->first.c_str(), it->second->c_str(), 1);
      else
        unsetenv(it->first.c_str());
  }

 private:
  void keep(const char* variable) {
    const char* const value = std::getenv(variable);
    kept_.emplace_back(variable, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
  }
  std::vector<std::pair<std::string, std::optional<std::string>>> kept_;
};

class selector_choice : public ::testing::Test {
 protected:
  selector_choice() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-selector-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
    folder_ = pattern;
    environment_.unset("WEFT_TUNING");
    environment_.set("XDG_CONFIG_HOME", folder_.string());
  }
  ~selector_choice() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_;
  Environment environment_;
};

TEST(selector_table, comes_back_from_its_text_to_the_bit) {
  const SelectorTable table = some_table();
  EXPECT_EQ(parse_selector_table(to_json(table), "t.json"), table);
}

TEST(selector_table, finds_rows_by_storage_type_and_window) {
  const SelectorTable table = some_table();
  ASSERT_NE(table.find(Dtype::f16, 16), nullptr);
  EXPECT_EQ(table.find(Dtype::f16, 16)->bias, -3.5);
  EXPECT_EQ(table.find(Dtype::bf16, 128)->density, 3);
  EXPECT_EQ(table.find(Dtype::f32, 64)->columns, 0.5);
  EXPECT_EQ(table.find(Dtype::f16, 128), nullptr);
  EXPECT_EQ(table.find(Dtype::f32, 128), nullptr);
}

TEST(selector_table, refuses_what_weft_tune_did_not_write_with_the_file_in_front) {
  const auto refused = [](const std::string& text, std::string_view word) {
    expect_refused([&] { parse_selector_table(text, "some/file.json"); }, word, ErrorCode::invalid_file);
    expect_refused([&] { parse_selector_table(text, "some/file.json"); }, "some/file.json", ErrorCode::invalid_file);
  };
  const std::string good = to_json(some_table());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  refused("", "no JSON");
  refused("[1, 2", "no JSON");
  refused(good.substr(0, good.size() / 2), "no JSON");
  refused("[]", "no table that weft tune wrote");
  refused("{}", "no table that weft tune wrote");
  refused(std::string(100000, '['), "deeper");
  refused(with("\"weft tuning\"", "\"other\""), "no table that weft tune wrote");
  refused(with("\"version\": 1", "\"version\": 2"), "version is '2': expected 1");
  refused(with("\"device\"", "\"divice\""), "has no 'device'");
  refused(with("\"NVIDIA H100 PCIe\"", "7"), "'device' is '7': expected a text");
  refused(with("\"f16\"", "\"f64\""), "'dtype' is 'f64': expected f16, bf16 or f32");
  refused(with("\"window\": 16", "\"window\": 17"), "'window' is 17");
  refused(with("\"window\": 16", "\"window\": -16"), "'window' is '-16'");
  refused(with("\"bias\": -3.5", "\"bias\": \"low\""), "'bias' is '\"low\"': expected a number");
  refused(with("\"bias\": -3.5", "\"bias\": null"), "'bias'");
  refused(with("\"bias\": -3.5", "\"bias\": 1e999"), "number");
  refused(with("\"columns\"", "\"columnz\""), "has no 'columns'");
  std::string twice = good;
  twice.replace(twice.find("\"bf16\""), 6, "\"f16\"");
  twice.replace(twice.find("\"window\": 128"), 13, "\"window\": 16");
  refused(twice, "two rows of f16 and 16 rows");
}

TEST(selector_table, is_refused_wherever_its_text_is_cut) {
  const std::string good = to_json(some_table());
  for (std::size_t bytes = 0; bytes + 1 < good.size(); ++bytes)  // the last byte ends the line
    EXPECT_THROW(parse_selector_table(good.substr(0, bytes), "cut.json"), Error) << bytes;
}

TEST(selector_row, folds_the_width_into_the_bias) {
  const SelectorRow row{Dtype::f16, 16, -3, 0.5, 2, 0.25, 1.5, 0, 0};
  const WindowModel model = row.at(64);
  EXPECT_DOUBLE_EQ(model.bias, -3 + 1.5 * 6);
  EXPECT_EQ(model.columns, 0.5);
  EXPECT_EQ(model.density, 2);
  EXPECT_EQ(model.fill, 0.25);
  EXPECT_NE(row.at(32), model) << "windows of other widths may be others";
}

TEST(selector_row, that_looks_at_no_window_is_that_of_all_or_none) {
  const SelectorRow by_width{Dtype::f16, 16, -5.5, 0, 0, 0, 1, 0, 0};
  EXPECT_EQ(by_width.at(64), WindowModel::all());
  EXPECT_EQ(by_width.at(128), by_width.at(64));
  EXPECT_EQ(by_width.at(32), WindowModel::none());
}

TEST(window_model, sees_columns_density_and_how_full_tiles_are) {
  const WindowFeatures f = WindowFeatures::of({96, 192}, 16);  // two tiles of 64
  EXPECT_DOUBLE_EQ(f.columns, std::log2(96.0));
  EXPECT_DOUBLE_EQ(f.density, -3);  // 192 / (16 * 96) = 1 / 8
  EXPECT_DOUBLE_EQ(f.fill, std::log2(0.75));
  const WindowModel model{0.5, 1, 2, -4};
  EXPECT_DOUBLE_EQ(model.log_odds(f), 0.5 + std::log2(96.0) - 6 - 4 * std::log2(0.75));
}

TEST(window_model, keeps_windows_of_positive_log_odds_that_have_columns) {
  EXPECT_TRUE(WindowModel::all().keeps({1, 1}, 128));
  EXPECT_FALSE(WindowModel::all().keeps({0, 0}, 128));
  EXPECT_FALSE(WindowModel::none().keeps({64, 64 * 128}, 128));
  const WindowModel from_32_columns{-4.5, 1};
  EXPECT_FALSE(from_32_columns.keeps({22, 100}, 16));
  EXPECT_TRUE(from_32_columns.keeps({23, 100}, 16));
}

TEST(built_in_selector, has_a_row_for_every_kernel_of_windows) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32})
    for (const int rows : {16, 64, 128}) EXPECT_NE(built_in_selector().find(dtype, rows), nullptr) << rows;
  EXPECT_FALSE(built_in_selector().device.empty());
}

TEST_F(selector_choice, is_the_built_in_table_where_the_user_keeps_none) {
  const SelectorChoice choice = choose_selector(built_in_selector().device, Dtype::f16, 64);
  EXPECT_EQ(choice.row, *built_in_selector().find(Dtype::f16, 64));
  EXPECT_NE(choice.source.find("built in for " + built_in_selector().device), std::string::npos) << choice.source;
  EXPECT_EQ(choice.note, "");
  EXPECT_NE(choose_selector("NVIDIA T4", Dtype::f16, 64).note.find("weft tune"), std::string::npos);
}

TEST_F(selector_choice, is_of_f32_where_the_users_table_has_its_row) {
  write("weft/tuning-nvidia-h100-pcie.json", to_json(some_table()));
  EXPECT_EQ(choose_selector("NVIDIA H100 PCIe", Dtype::f32, 64).row, some_table().rows[2]);
  EXPECT_EQ(choose_selector("NVIDIA H100 PCIe", Dtype::f32, 64).note, "");
}

TEST_F(selector_choice, says_what_to_do_where_no_table_has_a_row) {
  // No kernel of windows sums f64, and no table has it.
  const auto refused = [](const char* device, std::string_view words) {
    expect_refused([&] { choose_selector(device, Dtype::f64, 128); }, words, ErrorCode::unsupported);
  };
  refused("NVIDIA T4", "policy select=model for f64 and 128 rows per window");
  refused("NVIDIA T4", "has none; run weft tune on this GPU, or leave select out");
  const std::string path = write("weft/tuning-nvidia-h100-pcie.json", to_json(some_table()));
  refused("NVIDIA H100 PCIe", path + " has no row of f64 and 128 rows per window: not used; run weft tune");
  refused("NVIDIA H100 PCIe", "leave select out");
}

TEST_F(selector_choice, is_the_file_of_the_gpu_in_the_users_folder) {
  EXPECT_EQ(tuning_file("NVIDIA H100 PCIe").path, (folder_ / "weft/tuning-nvidia-h100-pcie.json").string());
  const std::string path = write("weft/tuning-nvidia-h100-pcie.json", to_json(some_table()));
  const SelectorChoice choice = choose_selector("NVIDIA H100 PCIe", Dtype::f16, 16);
  EXPECT_EQ(choice.row, some_table().rows[0]);
  EXPECT_EQ(choice.source, path);
  EXPECT_EQ(choice.note, "");
  const SelectorChoice missing = choose_selector("NVIDIA H100 PCIe", Dtype::f16, 64);
  EXPECT_EQ(missing.row, *built_in_selector().find(Dtype::f16, 64));
  EXPECT_NE(missing.note.find(path + " has no row of f16 and 64 rows"), std::string::npos) << missing.note;
}

TEST_F(selector_choice, follows_a_file_that_changes) {
  SelectorTable table = some_table();
  write("weft/tuning-nvidia-h100-pcie.json", to_json(table));
  EXPECT_EQ(choose_selector("NVIDIA H100 PCIe", Dtype::f16, 16).row.bias, -3.5);
  table.rows[0].bias = -123.25;  // another length, too: clocks of files are coarse
  write("weft/tuning-nvidia-h100-pcie.json", to_json(table));
  EXPECT_EQ(choose_selector("NVIDIA H100 PCIe", Dtype::f16, 16).row.bias, -123.25);
}

TEST_F(selector_choice, is_the_file_that_the_environment_names) {
  write("weft/tuning-nvidia-h100-pcie.json", "broken");
  const std::string path = write("mine.json", to_json(some_table()));
  environment_.set("WEFT_TUNING", path);
  EXPECT_EQ(choose_selector("NVIDIA H100 PCIe", Dtype::bf16, 128).source, path);
  const SelectorChoice other = choose_selector("NVIDIA T4", Dtype::bf16, 128);
  EXPECT_EQ(other.row, *built_in_selector().find(Dtype::bf16, 128));
  EXPECT_EQ(other.note, path + " is of 'NVIDIA H100 PCIe', this GPU is 'NVIDIA T4': not used");
}

TEST_F(selector_choice, refuses_a_file_that_is_bad_or_not_there_and_names_it) {
  const std::string path = write("weft/tuning-nvidia-t4.json", "{\"kind\"");
  expect_refused([] { choose_selector("NVIDIA T4", Dtype::f16, 16); }, path, ErrorCode::invalid_file);
  environment_.set("WEFT_TUNING", (folder_ / "none.json").string());
  expect_refused([] { choose_selector("NVIDIA T4", Dtype::f16, 16); }, "WEFT_TUNING", ErrorCode::io);
  expect_refused([] { choose_selector("NVIDIA T4", Dtype::f16, 16); }, "none.json", ErrorCode::io);
}

TEST_F(selector_choice, needs_no_home) {
  environment_.unset("XDG_CONFIG_HOME");
  environment_.unset("HOME");
  EXPECT_EQ(tuning_file("NVIDIA T4").path, "");
  EXPECT_NO_THROW(choose_selector("NVIDIA T4", Dtype::f16, 16));
  environment_.set("HOME", "/home/somebody");
  EXPECT_EQ(tuning_file("NVIDIA T4").path, "/home/somebody/.config/weft/tuning-nvidia-t4.json");
  environment_.set("XDG_CONFIG_HOME", "relative");
  EXPECT_EQ(tuning_file("NVIDIA T4").path, "/home/somebody/.config/weft/tuning-nvidia-t4.json");
}

}  // namespace
}  // namespace weft::test
