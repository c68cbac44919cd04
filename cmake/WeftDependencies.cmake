# What weft stands on; scripts/bootstrap installs all of it from the distribution's packages.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)            # error messages, command-line output
find_package(nlohmann_json REQUIRED)  # records and --json
find_package(ZLIB REQUIRED)           # .gz, .npz checksums
find_package(PkgConfig REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)  # .npz
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)     # vector code, chosen at run time
if(WEFT_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(WEFT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# CUDA: wanted, forbidden, or taken where a toolkit stands.
set(WEFT_HAS_CUDA OFF)
if(NOT WEFT_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)  # development; the release preset names the full list
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    find_package(CUDAToolkit REQUIRED)
    set(WEFT_HAS_CUDA ON)
  elseif(WEFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WEFT_CUDA=ON, but no CUDA compiler was found: put nvcc on PATH, set CUDACXX, or use WEFT_CUDA=OFF")
  endif()
endif()
message(STATUS "weft: CUDA backend ${WEFT_HAS_CUDA}")
