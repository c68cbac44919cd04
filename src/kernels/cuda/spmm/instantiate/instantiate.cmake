# The kinds of SpMM that are compiled, one file each so that they build side by side. A kind that is missing here falls
# back to the next more general one (see launch.cpp): source and weighted are scaled, written without an epilogue.
foreach(kind
    float:source:sum float:weighted:sum float:scaled:sum float:edgewise:sum float:scaled:extremum float:edgewise:extremum float:scaled:winner float:edgewise:winner
    double:scaled:sum double:edgewise:sum double:scaled:winner double:edgewise:winner)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 STORAGE)
  list(GET parts 1 MESSAGE)
  list(GET parts 2 REDUCTION)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_${STORAGE}_${MESSAGE}_${REDUCTION}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tasks.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
# Sums of rows of few features; the same messages fall back in the same way.
foreach(kind float:source float:weighted float:scaled double:scaled)
  string(REPLACE ":" ";" parts ${kind})
  list(GET parts 0 STORAGE)
  list(GET parts 1 MESSAGE)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_narrow_${STORAGE}_${MESSAGE}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/narrow.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
# Sums with edges staged in shared memory, so many at a time: 128 for rows of few features, 32 for comparison.
foreach(TILE 32 128)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/spmm_staged_${TILE}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/staged.cu.in ${file} @ONLY)
  target_sources(weft_kernels PRIVATE ${file})
endforeach()
