# One source file for every kernel family and storage type, written into the build tree, so that the list
# of what is instantiated stands here and nowhere else.
function(weft_instantiate HEADER FAMILY ARGS)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/instantiated)
  set(templates ${CMAKE_CURRENT_SOURCE_DIR}/cpu/instantiate)
  set(DECLARATIONS)
  set(CASES)
  foreach(pair IN LISTS weft_storage_types)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 NAME)
    list(GET pair 1 TYPE)
    string(APPEND DECLARATIONS "void ${FAMILY}_${NAME}(const ${ARGS}& args, const Plan& plan, Arena arena);\n")
    string(APPEND CASES "    case Dtype::${NAME}: return ${FAMILY}_${NAME}(args, plan, arena);\n")
    set(SELF ${folder}/${FAMILY}_${NAME}.cpp)
    configure_file(${templates}/storage.cpp.in ${SELF} @ONLY)
    target_sources(weft_kernels PRIVATE ${SELF})
    set_source_files_properties(${SELF} PROPERTIES
      COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=${WEFT_HIGHWAY_DISABLED}" COMPILE_OPTIONS "${WEFT_KERNEL_OPTIMISATION}")
  endforeach()
  configure_file(${templates}/dispatch.cpp.in ${folder}/${FAMILY}.cpp @ONLY)
  target_sources(weft_kernels PRIVATE ${folder}/${FAMILY}.cpp)
endfunction()

#                header     family             arguments
weft_instantiate(spmm       spmm               SpmmArgs)
weft_instantiate(leaky      leaky_sum          LeakyArgs)
weft_instantiate(sddmm      sddmm              SddmmArgs)
weft_instantiate(softmax    softmax_forward    SoftmaxArgs)
weft_instantiate(softmax    softmax_backward   SoftmaxArgs)
weft_instantiate(attention  attention_forward  AttentionArgs)
weft_instantiate(attention_edges attention_edges AttentionEdgeArgs)
weft_instantiate(attention_backward attention_backward AttentionBackwardArgs)
weft_instantiate(attention_terms attention_terms AttentionTermArgs)

target_link_libraries(weft_kernels PRIVATE PkgConfig::hwy)
set_source_files_properties(cpu/target.cpp PROPERTIES
  COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=${WEFT_HIGHWAY_DISABLED}")
