# One source file for every kernel family and storage type, written into the build tree, so that the list
# of what is instantiated stands here and nowhere else. Highway compiles each for every instruction set
# and picks one at run time: on x86-64 AVX-512 (AVX3), AVX2 or plain code, on Arm NEON. SSE is left out to
# keep the build short, and so are the later kinds of AVX-512 (bits 3, 4, 6 and 7: AVX10.2, SPR, ZEN4 and DL,
# which older Highways do not name); scalable vectors because the kernels keep arrays of vectors.
set(WEFT_HIGHWAY_DISABLED "(HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SSSE3 | HWY_SSE4 | 0xD8)")

function(weft_instantiate HEADER FAMILY ARGS)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/instantiated)
  set(templates ${CMAKE_CURRENT_SOURCE_DIR}/cpu/instantiate)
  configure_file(${templates}/dispatch.cpp.in ${folder}/${FAMILY}.cpp @ONLY)
  target_sources(weft_kernels PRIVATE ${folder}/${FAMILY}.cpp)
  foreach(pair f32:float f16:Half bf16:BFloat16 f64:double)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 NAME)
    list(GET pair 1 TYPE)
    set(SELF ${folder}/${FAMILY}_${NAME}.cpp)
    configure_file(${templates}/storage.cpp.in ${SELF} @ONLY)
    target_sources(weft_kernels PRIVATE ${SELF})
    set_source_files_properties(${SELF} PROPERTIES
      COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=${WEFT_HIGHWAY_DISABLED}" COMPILE_OPTIONS "-O3")
  endforeach()
endfunction()

#                header     family             arguments
weft_instantiate(spmm       spmm               SpmmArgs)
weft_instantiate(leaky      leaky_sum          LeakyArgs)
weft_instantiate(sddmm      sddmm              SddmmArgs)
weft_instantiate(softmax    softmax_forward    SoftmaxArgs)
weft_instantiate(softmax    softmax_backward   SoftmaxArgs)
weft_instantiate(attention  attention_forward  AttentionArgs)
weft_instantiate(attention_edges attention_edges AttentionEdgeArgs)

target_link_libraries(weft_kernels PRIVATE PkgConfig::hwy)
set_source_files_properties(cpu/product.cpp PROPERTIES COMPILE_OPTIONS "-O3")
set_source_files_properties(cpu/product.cpp cpu/target.cpp PROPERTIES
  COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=${WEFT_HIGHWAY_DISABLED}")
