#include "core/loops/cpu.hpp"
#include "nn/step/passes-inl.hpp"

namespace weft::loops {
using Backend = Cpu;
}
#include "nn/step/pass_list-inl.hpp"
