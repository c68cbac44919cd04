// Functions that host code and CUDA kernels share.
#pragma once

#ifdef __CUDACC__
#define WEFT_ANYWHERE __host__ __device__
#else
#define WEFT_ANYWHERE
#endif
