// What this machine is, read from the operating system; anything it does not tell stays empty.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::tool {

struct Cache {
  int level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  std::size_t bytes = 0;
  std::string shared_by;  // processors, "0-3"
};

struct Machine {
  std::string cpu_model;
  int processors = 0;  // online in the machine, whatever this process may use
  std::vector<Cache> caches;
  std::size_t memory_bytes = 0, available_bytes = 0;
  std::string huge_pages;  // "madvise", "always", "never"
  std::string system;      // kernel and architecture
};

Machine this_machine();
/// Whether the system shows an NVIDIA GPU; needs no CUDA in this build.
bool has_gpu_driver();
/// The version of NVIDIA's kernel module, "580.65.06"; empty where the system does not say.
std::string gpu_driver_version();
/// "GCC 12.2.0", of this very program.
std::string compiler_text();
/// Processes that wanted to run over the last minute; 0 where the system does not say.
double machine_load();
/// "2025-11-15T02:45:00Z".
std::string utc_now();

}  // namespace weft::tool
