// The graphs whose results are hashed, and the ways to plan.
#pragma once

#include <string>
#include <vector>

#include "battery/sweep.hpp"
#include "weft/generate.hpp"

namespace weft::test {

/// The battery's, and one large enough for plans with many tasks in every order.
inline std::vector<BatteryGraph> graphs_of_bits(Device device) {
  std::vector<BatteryGraph> all = battery_graphs();
  PowerlawSpec spec;
  spec.nodes = 20'000;
  spec.edges = 400'000;
  spec.communities = 40;
  all.push_back({"powerlaw_20000_400000", generate(spec)});
  for (BatteryGraph& battery : all) battery.graph = on(device, battery.graph);
  return all;
}

inline Tensor random_on(Device device, Shape shape, Dtype dtype, std::uint64_t seed) {
  return random_tensor(shape, dtype, seed).to(device);
}

}  // namespace weft::test
