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
  find_package(benchmark REQUIRED)
endif()
include(WeftCuda)
