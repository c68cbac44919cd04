# What the library for PyTorch asks of the build: a torch to compile against, CUDA only where that torch has it, and
# nothing in the finished library that a wheel cannot carry.
set(WEFT_FMT fmt::fmt)
if(NOT WEFT_TORCH)
  return()
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)
execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_torch.py
  OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE reason ERROR_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE without_torch)
if(without_torch)
  message(FATAL_ERROR "WEFT_TORCH=ON, but ${reason}")
endif()
list(POP_FRONT torch WEFT_TORCH_FOLDER torch_version torch_cuda)
if(NOT EXISTS ${WEFT_TORCH_FOLDER}/include/torch/csrc/stable/library.h)
  message(FATAL_ERROR "WEFT_TORCH=ON, but torch ${torch_version} in ${WEFT_TORCH_FOLDER} has no headers of the stable ABI: install torch 2.11 or newer from its wheel")
endif()
message(STATUS "weft: torch ${torch_version} in ${WEFT_TORCH_FOLDER}")

# fmt is compiled in. Three functions of Highway that choose the instruction set are not: `make wheel` puts that library
# into the wheel where it is a shared one, as Debian's is.
set(WEFT_FMT fmt::fmt-header-only)

# AUTO follows torch: CUDA code beside a torch without CUDA could never be called.
if(torch_cuda STREQUAL "none" AND NOT WEFT_CUDA STREQUAL "OFF")
  if(WEFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WEFT_CUDA=ON, but torch ${torch_version} was built without CUDA: install one with CUDA, or use WEFT_CUDA=OFF")
  endif()
  message(STATUS "weft: no CUDA backend: torch ${torch_version} was built without CUDA")
  set(WEFT_CUDA OFF)
endif()
string(REGEX MATCH "^[0-9]+" WEFT_TORCH_CUDA_MAJOR "${torch_cuda}")

# Unless told otherwise, CUDA code is for this machine's GPU, and without one for all that weft supports.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE without_gpu)
  if(NOT without_gpu AND gpus MATCHES "^([0-9]+)[.]([0-9]+)")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  else()
    set(CMAKE_CUDA_ARCHITECTURES all)
  endif()
endif()
