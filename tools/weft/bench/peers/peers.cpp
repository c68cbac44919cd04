#include "bench/peers/peer.hpp"

namespace weft::tool {

std::vector<PeerLibrary> peer_libraries() {
  std::vector<PeerLibrary> libraries;
#ifdef WEFT_PEER_EIGEN
  libraries.push_back(eigen_library());
#endif
#ifdef WEFT_PEER_GRAPHBLAS
  libraries.push_back(graphblas_library());
#endif
#ifdef WEFT_PEER_MKL
  libraries.push_back(mkl_library());
#endif
  return libraries;
}

}  // namespace weft::tool
