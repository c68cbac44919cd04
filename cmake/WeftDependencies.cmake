# What weft stands on; scripts/bootstrap installs all of it from the distribution's packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)            # error messages, command-line output
find_package(nlohmann_json REQUIRED)  # records and --json, GraphSAINT's labels and splits
find_package(ZLIB REQUIRED)           # .gz, .npz checksums
find_package(BZip2 REQUIRED)          # .bz2, which comes without a pkg-config file
find_package(PkgConfig REQUIRED)
pkg_check_modules(lzma REQUIRED IMPORTED_TARGET liblzma)   # .xz
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)   # .zst
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)  # .npz
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)     # vector code, chosen at run time
if(WEFT_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(WEFT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(WEFT_BUILD_BENCH)
  find_package(benchmark QUIET)
endif()
include(WeftTorch)
include(WeftCuda)

# Highway compiles vector code for every instruction set and picks one at run time: on x86-64 AVX-512 (AVX3), AVX2 or
# plain code, on Arm NEON. SSE is left out to keep the build short, and so are the later kinds of AVX-512 (bits 3, 4, 6
# and 7: AVX10.2, SPR, ZEN4 and DL, which older Highways do not name); scalable vectors because the kernels keep arrays
# of vectors.
set(WEFT_HIGHWAY_DISABLED "(HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SSSE3 | HWY_SSE4 | 0xD8)")
# Files of vector code. In a development build -O3 would take twice as long to compile.
set(WEFT_KERNEL_OPTIMISATION "$<IF:$<CONFIG:RelWithDebInfo>,-O2,-O3>")
