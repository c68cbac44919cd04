// Stands in for CUDA in a build without it. No context of such a build is on a GPU, so nothing here is ever reached.
#include "bench/cuda/measure.hpp"
#include "core/check.hpp"

namespace weft::tool {
namespace {

[[noreturn]] void refuse() { fail(ErrorCode::unsupported, "this build of weft has no CUDA; use --device cpu"); }

}  // namespace

std::unique_ptr<Timer> make_event_timer(const Context&, bool) { refuse(); }
std::unique_ptr<GatherFloor> make_cuda_floor(const Context&, FloorJob) { refuse(); }
std::uint64_t cuda_fingerprint(const Context&, const void*, std::size_t) { refuse(); }
void cuda_poison(int, CUstream_st*, void*, std::size_t) { refuse(); }
GpuFacts gpu_facts(int) { refuse(); }

}  // namespace weft::tool
