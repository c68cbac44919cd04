# Headers of other projects that most files include, compiled once for a target: without that a file of this size spends
# two thirds of its time on them. A file with options of its own must be left out (SKIP_PRECOMPILE_HEADERS): GCC 12 crashes
# over headers that were compiled with others.
option(WEFT_PRECOMPILED_HEADERS "Compile the headers that most files include once for each target" OFF)

set(weft_common_headers
  <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex>
  <numeric> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector> <fmt/format.h>)

# weft_precompile(TARGET [header...]): the common headers and more of them.
function(weft_precompile target)
  if(NOT WEFT_PRECOMPILED_HEADERS)
    return()
  endif()
  foreach(header IN LISTS weft_common_headers ARGN)
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
endfunction()

# weft_precompile_test(TARGET OPTIMISATION): the same with GoogleTest, once for all test programs of that optimisation.
function(weft_precompile_test target optimisation)
  if(NOT WEFT_PRECOMPILED_HEADERS)
    return()
  endif()
  set(shared weft_test_headers${optimisation})
  if(NOT TARGET ${shared})
    set(source ${PROJECT_BINARY_DIR}/generated/test_headers.cpp)
    if(NOT EXISTS ${source})
      file(WRITE ${source} "int main() {}  // the headers are what is compiled here\n")
    endif()
    add_executable(${shared} ${source})  # as test programs are: a library has other flags
    target_link_libraries(${shared} PRIVATE weft_settings GTest::gtest)
    target_compile_options(${shared} PRIVATE $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:${optimisation}>)
    weft_precompile(${shared} <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()
