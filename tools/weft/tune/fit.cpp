#include "tune/fit.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.hpp"

namespace weft::tool {
namespace {

std::array<double, 4> features_of(const TimedWindow& timed) {
  const WindowFeatures f = WindowFeatures::of(timed.counts(), timed.window.rows);
  return {f.columns, f.density, f.fill, std::log2(static_cast<double>(timed.width))};
}

}  // namespace

WindowCounts TimedWindow::counts() const {
  return {static_cast<std::int32_t>(window.columns), static_cast<std::int32_t>(window.nonzeros)};
}

FittedSelector fit_selector(std::span<const TimedWindow> windows, Dtype dtype, int rows) {
  LabelledSamples fitted_to(4), tested_with(4);
  FittedSelector fitted;
  std::vector<const TimedWindow*> held_out;
  for (const TimedWindow& timed : windows) {
    if (timed.dtype != dtype || timed.window.rows != rows) continue;
    fitted.tensor_faster += timed.tensor_faster() ? 1 : 0;
    if (timed.held_out) held_out.push_back(&timed);
    (timed.held_out ? tested_with : fitted_to).add(features_of(timed), timed.tensor_faster());
  }
  const LogisticModel model = LogisticModel::fit(fitted_to);
  fitted.confusion = confusion_of(model, tested_with);
  const auto weights = model.weights();
  fitted.row = {dtype,
                rows,
                model.intercept(),
                weights[0],
                weights[1],
                weights[2],
                weights[3],
                fitted.confusion.accuracy(),
                static_cast<std::int64_t>(fitted_to.size() + tested_with.size())};
  for (const TimedWindow* timed : held_out) {
    const double best = std::min(timed->tensor_us, timed->cuda_us), count = static_cast<double>(held_out.size());
    const bool chosen = fitted.row.at(timed->width).keeps(timed->counts(), rows);
    fitted.lost_by_model += ((chosen ? timed->tensor_us : timed->cuda_us) / best - 1) / count;
    fitted.lost_by_all += (timed->tensor_us / best - 1) / count;
    fitted.lost_by_none += (timed->cuda_us / best - 1) / count;
  }
  return fitted;
}

std::string formula_text(const SelectorRow& row) {
  const auto term = [](double weight, const char* of) {
    return fmt::format(" {} {:.3f} log2({})", weight < 0 ? "-" : "+", std::abs(weight), of);
  };
  return fmt::format("{:.3f}", row.bias) + term(row.columns, "columns") + term(row.density, "density") +
         term(row.fill, "fill") + term(row.width, "width");
}

std::string break_even_text(const SelectorRow& row, std::int64_t width) {
  std::string text;
  for (const std::int32_t columns : {8, 32, 64, 128, 256}) {
    const WindowModel model = row.at(width);
    const bool thin = model.keeps({columns, columns}, row.window_rows);
    const bool full = model.keeps({columns, columns * row.window_rows}, row.window_rows);
    // Linear in the density's logarithm: at density 1 it is all but the density's own term.
    const double at_one = model.log_odds(WindowFeatures::of({columns, columns * row.window_rows}, row.window_rows));
    text += fmt::format("{}{} columns: {}", text.empty() ? "" : ", ", columns,
                        thin && full     ? "always"
                        : !thin && !full ? "never"
                        : full           ? fmt::format("from {:.3f}", std::exp2(-at_one / model.density))
                                         : fmt::format("up to {:.3f}", std::exp2(-at_one / model.density)));
  }
  return text;
}

nlohmann::json to_json(const FittedSelector& fitted) {
  const SelectorRow& row = fitted.row;
  const YesNoConfusion& c = fitted.confusion;
  return {{"dtype", name(row.dtype)},
          {"window", row.window_rows},
          {"coefficients",
           {{"bias", row.bias},
            {"columns", row.columns},
            {"density", row.density},
            {"fill", row.fill},
            {"width", row.width}}},
          {"samples", row.samples},
          {"tensor_faster", fitted.tensor_faster},
          {"held_out", c.total()},
          {"accuracy", row.accuracy},
          {"confusion",
           {{"tensor_as_tensor", c.right_yes},
            {"cuda_as_tensor", c.wrong_yes},
            {"tensor_as_cuda", c.wrong_no},
            {"cuda_as_cuda", c.right_no}}},
          {"lost", {{"model", fitted.lost_by_model}, {"all", fitted.lost_by_all}, {"none", fitted.lost_by_none}}}};
}

nlohmann::json to_json(const TimedWindow& timed) {
  return {{"dtype", name(timed.dtype)},        {"window", timed.window.rows}, {"columns", timed.window.columns},
          {"nonzeros", timed.window.nonzeros}, {"width", timed.width},        {"tensor_us", timed.tensor_us},
          {"cuda_us", timed.cuda_us},          {"held_out", timed.held_out}};
}

}  // namespace weft::tool
