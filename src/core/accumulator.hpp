// What a storage type is accumulated in.
#pragma once

#include <type_traits>

namespace weft {

template <class Storage>
using AccumulatorOf = std::conditional_t<std::is_same_v<Storage, double>, double, float>;

}  // namespace weft
