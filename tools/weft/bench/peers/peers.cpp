#include "bench/peers/peer.hpp"

namespace weft::tool {
namespace {

std::vector<PeerLibrary> host_libraries() {
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

}  // namespace

std::vector<PeerLibrary> peer_libraries(DeviceKind device, [[maybe_unused]] OpKind kind) {
  if (device == DeviceKind::cpu) return host_libraries();
#ifdef WEFT_PEER_CUSPARSE
  return cusparse_libraries(kind);
#else
  return {};
#endif
}

std::vector<PeerVersion> peer_versions() {
  std::vector<PeerVersion> versions;
  for (const PeerLibrary& library : host_libraries())
    versions.push_back({library.name, library.version, DeviceKind::cpu});
#ifdef WEFT_PEER_CUSPARSE
  versions.push_back(cusparse_version());
#endif
  return versions;
}

}  // namespace weft::tool
