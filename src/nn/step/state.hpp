// What changes from step to step, kept where training runs, so that an epoch is a sequence of launches without a word
// from the host.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/philox.hpp"
#include "weft/nn.hpp"

namespace weft::nn {

struct StepState {
  std::int64_t step = 0;        // steps that are over, one for every batch; what dropout counts by
  std::int64_t epoch = 0;       // epochs that are over
  std::int64_t applied = 0;     // steps the optimiser has made: all but those whose gradients overflowed
  float loss_scale = 1;         // of gradients in f16
  std::int32_t good_steps = 0;  // since the scale last changed
  std::int32_t overflow = 0;    // a gradient of this step is not finite
  std::int32_t stopped = 0;     // no better epoch for too long: parameters stay as they are
  std::int32_t improved = 0;    // this epoch is the best one
  std::int32_t skipped = 0;     // steps whose gradients overflowed, while training was not stopped
  std::int64_t best_epoch = 0;
  std::int64_t since_best = 0;  // epochs
  double best_accuracy = -1, best_loss = 0;
};

/// Sums over the nodes of a split: of losses, and of outputs that were rightly and wrongly taken and wrongly left out.
struct SplitSums {
  double loss = 0, right = 0, wrong = 0, missed = 0;
  WEFT_ANYWHERE void add(const SplitSums& more) {
    loss += more.loss;
    right += more.right;
    wrong += more.wrong;
    missed += more.missed;
  }
  /// Micro-F1; of nodes with one label each the share that is right.
  WEFT_ANYWHERE double accuracy() const {
    const double all = 2 * right + wrong + missed;
    return all > 0 ? 2 * right / all : 0;
  }
};
inline constexpr int num_splits = 3;  // train, val, test

/// One epoch's figures as training writes them, read by the host whenever it likes.
struct Published {
  double loss = 0, train_accuracy = 0, val_accuracy = 0, test_accuracy = 0, val_loss = 0, lr = 0;
  double loss_scale = 1;
  std::int32_t evaluated = 0, stopped = 0;
  std::int64_t best_epoch = 0;
};

/// The learning rate of an epoch, counted from 0.
struct Rate {
  LearningRateSchedule schedule = LearningRateSchedule::constant;
  double lr = 0;
  std::int64_t warmup = 0, every = 1, epochs = 1;
  double gamma = 1;

  WEFT_ANYWHERE double at(std::int64_t epoch) const {
    constexpr double pi = 3.14159265358979323846;
    double rate = lr;
    if (schedule == LearningRateSchedule::cosine)
      rate *= 0.5 * (1 + cos(pi * static_cast<double>(epoch) / static_cast<double>(epochs)));
    if (schedule == LearningRateSchedule::steps) rate *= pow(gamma, static_cast<double>(epoch / every));
    return epoch < warmup ? rate * static_cast<double>(epoch + 1) / static_cast<double>(warmup) : rate;
  }
};

/// How the scale of losses follows overflows: halved at one, doubled after so many steps without. Below 1 it makes room
/// for gradients that are larger than f16 by themselves, as those of sums over hubs are.
inline constexpr float first_loss_scale = 65536.0f, largest_loss_scale = 0x1p24f;
/// How far it falls where losses are multiplied by `weight`, 1 / the number of nodes: gradients of logits, which are at
/// most weight times scale, must keep four of f16's steps of 2^-24. Where even so some gradients overflow and f16 has
/// no room for all of them steps are skipped to the end, instead of being made of nothing.
inline float smallest_loss_scale(double weight) {
  return static_cast<float>(std::fmin(1.0, std::fmax(0x1p-24, 0x1p-22 / weight)));
}
inline constexpr std::int32_t steps_between_doublings = 500;

}  // namespace weft::nn
