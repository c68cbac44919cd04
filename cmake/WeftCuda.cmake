# CUDA: wanted, forbidden, or taken where a toolkit that can build weft stands. Sets WEFT_HAS_CUDA and
# CMAKE_CUDA_ARCHITECTURES.
set(WEFT_HAS_CUDA OFF)
set(WEFT_MIN_CUDA 12.0)  # the first nvcc with C++20
set(WEFT_ALL_ARCHITECTURES 80 86 89 90 100 120)  # what CMAKE_CUDA_ARCHITECTURES=all stands for

# Why CUDA cannot be had: an error where it was demanded, a line where it was only welcome.
macro(weft_no_cuda reason)
  if(WEFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WEFT_CUDA=ON, but ${reason}; put a toolkit's nvcc on PATH, set CUDACXX, or use WEFT_CUDA=OFF")
  endif()
  message(STATUS "weft: no CUDA backend: ${reason}")
endmacro()

# weft_supported_architectures(OUT LIST...): those of LIST this nvcc can build, each as machine code, and
# the newest as PTX too, so that later GPUs can run it.
function(weft_supported_architectures out)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch
    OUTPUT_VARIABLE known RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(supported)
  set(dropped)
  foreach(architecture IN LISTS ARGN)
    if(failed OR NOT architecture MATCHES "^[0-9]+$" OR known MATCHES "compute_${architecture}(\n|$)")
      list(APPEND supported ${architecture})
    else()
      list(APPEND dropped ${architecture})
    endif()
  endforeach()
  if(dropped)
    message(STATUS "weft: this CUDA toolkit cannot build for architectures ${dropped}; they are left out")
  endif()
  list(LENGTH supported count)
  if(count GREATER 1 AND NOT supported MATCHES "[a-z]")
    list(GET supported -1 newest)
    list(TRANSFORM supported APPEND "-real")
    list(APPEND supported ${newest}-virtual)
  endif()
  set(${out} "${supported}" PARENT_SCOPE)
endfunction()

if(NOT WEFT_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_version "${nvcc_version}")
    set(nvcc_version "${CMAKE_MATCH_1}")
    if(nvcc_version AND nvcc_version VERSION_LESS WEFT_MIN_CUDA)
      weft_no_cuda("the CUDA toolkit found is ${nvcc_version} and weft needs ${WEFT_MIN_CUDA} or newer")
    elseif(WEFT_TORCH AND nvcc_version AND NOT nvcc_version MATCHES "^${WEFT_TORCH_CUDA_MAJOR}[.]")
      weft_no_cuda("the CUDA toolkit found is ${nvcc_version} and torch is of CUDA ${WEFT_TORCH_CUDA_MAJOR}")
    else()
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)  # development; the release preset takes all
      elseif(CMAKE_CUDA_ARCHITECTURES STREQUAL "all")
        set(CMAKE_CUDA_ARCHITECTURES ${WEFT_ALL_ARCHITECTURES})
      endif()
      weft_supported_architectures(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
      enable_language(CUDA)
      if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1, Debian 12's, does not know it yet
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
      endif()
      set(CMAKE_CUDA_STANDARD 20)
      set(CMAKE_CUDA_STANDARD_REQUIRED ON)
      find_package(CUDAToolkit REQUIRED)
      set(WEFT_HAS_CUDA ON)
      if(CMAKE_CUDA_ARCHITECTURES MATCHES "(^|;)90")
        set(WEFT_HAS_WGMMA true)  # Hopper's own instructions
      endif()
      message(STATUS "weft: CUDA backend for architectures ${CMAKE_CUDA_ARCHITECTURES}")
    endif()
  else()
    weft_no_cuda("no working CUDA compiler was found")
  endif()
endif()

# One copy of the CUDA runtime in a process: a program that loads both shared libraries would have two static ones.
set(WEFT_CUDA_RUNTIME CUDA::cudart_static)
if(BUILD_SHARED_LIBS)
  set(WEFT_CUDA_RUNTIME CUDA::cudart)
endif()

# cuBLAS and cuSPARSE are loaded when they are first used; the toolkit's folder is where they are looked for last.
set(WEFT_CUDA_LIBRARY_DEFINITIONS
  WEFT_CUBLAS_FILE="libcublas.so.${CUDAToolkit_VERSION_MAJOR}"
  WEFT_CUDA_LIBRARIES="${CUDAToolkit_LIBRARY_DIR}")
# cuSPARSE has version numbers of its own: what the toolkit's libcusparse.so points to tells.
set(WEFT_CUSPARSE_FILE)
if(TARGET CUDA::cusparse)
  get_target_property(cusparse CUDA::cusparse IMPORTED_LOCATION)
  file(REAL_PATH "${cusparse}" cusparse)
  if(cusparse MATCHES "(libcusparse\\.so\\.[0-9]+)")
    set(WEFT_CUSPARSE_FILE ${CMAKE_MATCH_1})
  endif()
endif()
