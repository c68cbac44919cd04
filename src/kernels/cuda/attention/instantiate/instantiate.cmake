# Fused attention, one file a storage type so that they build side by side.
foreach(kind float:float double:double half:__half bfloat16:__nv_bfloat16)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 NAME)
  list(GET parts 1 STORAGE)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/attention_${NAME}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/attention.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
