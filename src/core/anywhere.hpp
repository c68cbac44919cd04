// Functions that host code and CUDA kernels share.
#pragma once

#ifdef __CUDACC__
#define WEFT_ANYWHERE __host__ __device__
/// Before a shared template that calls its argument, which may run on one of the two sides alone.
#define WEFT_CALLS_ITS_ARGUMENT _Pragma("nv_exec_check_disable")
#else
#define WEFT_ANYWHERE
#define WEFT_CALLS_ITS_ARGUMENT
#endif
