# The kinds of SpMM that are compiled, one file each so that they build side by side. A kind that is missing here falls
# back to the next more general one (see launch.cpp): source and weighted are scaled, written without an epilogue.
set(storage_float float)
set(storage_double double)
set(storage_half __half)
set(storage_bfloat16 __nv_bfloat16)
foreach(kind
    float:source:sum float:weighted:sum float:scaled:sum float:edgewise:sum float:scaled:extremum float:edgewise:extremum float:scaled:winner float:edgewise:winner
    half:source:sum half:weighted:sum half:scaled:sum half:edgewise:sum half:scaled:extremum half:edgewise:extremum half:scaled:winner half:edgewise:winner
    bfloat16:source:sum bfloat16:weighted:sum bfloat16:scaled:sum bfloat16:edgewise:sum bfloat16:scaled:extremum bfloat16:edgewise:extremum bfloat16:scaled:winner bfloat16:edgewise:winner
    double:scaled:sum double:edgewise:sum double:scaled:winner double:edgewise:winner)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 NAME)
  set(STORAGE ${storage_${NAME}})
  list(GET parts 1 MESSAGE)
  list(GET parts 2 REDUCTION)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_${NAME}_${MESSAGE}_${REDUCTION}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tasks.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
# Sums of rows of few features; the same messages fall back in the same way.
foreach(kind float:source float:weighted float:scaled half:source half:weighted half:scaled bfloat16:source bfloat16:weighted bfloat16:scaled double:scaled)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 NAME)
  set(STORAGE ${storage_${NAME}})
  list(GET parts 1 MESSAGE)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_narrow_${NAME}_${MESSAGE}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/narrow.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
# Sums with edges staged in shared memory, so many at a time: 128 for rows of few features.
# The rest is for comparison (GNNOne's and HalfGNN's tables).
foreach(kind float:32 float:128 half:32 half:64 half:128 bfloat16:128)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 NAME)
  list(GET parts 1 TILE)
  set(STORAGE ${storage_${NAME}})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_staged_${NAME}_${TILE}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/staged.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
# Batches of halves in pairs, as HalfGNN adds them up.
foreach(kind half:source half:weighted bfloat16:source bfloat16:weighted)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 NAME)
  list(GET parts 1 MESSAGE)
  set(STORAGE ${storage_${NAME}})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_pairs_${NAME}_${MESSAGE}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/pairs.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
