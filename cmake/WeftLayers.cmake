# Each layer is an object library that sees only the layers left of it; `weft` is all of them in one.
add_library(weft_settings INTERFACE)
target_include_directories(weft_settings INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_BINARY_DIR}/generated)
target_compile_features(weft_settings INTERFACE cxx_std_20)
# CUDA files know by themselves that there is CUDA. Without it launchers refuse without a look at their arguments
# (core/cuda/launcher.hpp).
target_compile_definitions(weft_settings INTERFACE $<$<AND:$<BOOL:${WEFT_HAS_CUDA}>,$<COMPILE_LANGUAGE:CXX>>:WEFT_HAS_CUDA>)
target_compile_options(weft_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-psabi>
  $<$<NOT:$<BOOL:${WEFT_HAS_CUDA}>>:-Wno-unused-parameter>  # after -Wextra, which for clang brings it back
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WEFT_WERROR}>>:-Werror>)
# One section for each function and variable: whoever links a static library can drop those it does not use.
target_compile_options(weft_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>)
# The kernels of one architecture are 107 MB in nvcc's default compression, and about a third of that in its smallest,
# which takes longer to pack and unpack. With CUDA 12 either wants driver 550.54.14 (that of CUDA 12.4) or later.
if(WEFT_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  target_compile_options(weft_settings INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
endif()
target_link_libraries(weft_settings INTERFACE ${WEFT_FMT} Threads::Threads)
if(WEFT_SANITIZE)
  target_compile_options(weft_settings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g>)
  target_link_options(weft_settings INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()

# weft_limit_effort(TARGET): CUDA files of a development build are compiled in less time.
function(weft_limit_effort target)
  if(WEFT_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
    # A few shapes are there to see that everything compiles, and not optimised either.
    set(effort $<IF:$<STREQUAL:${WEFT_CUDA_SHAPES},few>,max,mid>)
    target_compile_options(${target} PRIVATE
      $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CUDA>>:--Ofast-compile=${effort}>)
  endif()
endfunction()

# weft_layer(NAME source...): the layer src/NAME. In a development build, which is there for tests, only the CPU's kernels
# are optimised in full. (The largest CUDA file takes 34 s then, and 68 in a release.)
function(weft_layer name)
  add_library(weft_${name} OBJECT ${ARGN})
  target_link_libraries(weft_${name} PUBLIC weft_settings)
  if(NOT name STREQUAL "kernels")  # most of whose files have options of their own
    weft_precompile(weft_${name})
    target_compile_options(weft_${name} PRIVATE $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
  weft_limit_effort(weft_${name})
endfunction()

# weft_test(NAME LAYERS core graph ... SOURCES a.cpp ... [LABELS ...]): one test program, one ctest test. It
# uses several threads, so it counts as two processors; `serial` among the labels runs it alone.
function(weft_test name)
  cmake_parse_arguments(arg "" "" "LAYERS;SOURCES;LABELS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  foreach(layer IN LISTS arg_LAYERS)
    target_link_libraries(test_${name} PRIVATE weft_${layer})
  endforeach()
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE weft_test_support GTest::gtest GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE WEFT_SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared/data"
    $<$<NOT:$<AND:$<BOOL:${WEFT_ABLATIONS}>,$<BOOL:${WEFT_CUDA_F64}>>>:WEFT_NOT_ALL_KERNELS>)
  # Of a development build half the time went into optimising tests that run for a moment. A folder whose tests do most
  # of their work in the library sets weft_test_optimisation to -O0.
  if(NOT DEFINED weft_test_optimisation)
    set(weft_test_optimisation -O1)
  endif()
  target_compile_options(test_${name} PRIVATE $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:${weft_test_optimisation}>)
  weft_precompile_test(test_${name} ${weft_test_optimisation})
  add_test(NAME ${name} COMMAND test_${name})
  set(timeout 900)
  if(WEFT_SANITIZE)
    set(timeout 3600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${timeout} PROCESSORS 2)
  if("serial" IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
