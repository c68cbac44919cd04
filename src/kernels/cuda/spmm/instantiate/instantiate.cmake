# The kinds of SpMM that are compiled, one file each so that they build side by side.
set(storage_float float)
set(storage_double double)
set(storage_half __half)
set(storage_bfloat16 __nv_bfloat16)

# TEMPLATE for every kind of ARGN, "storage:VALUE:...", VALUEs being those of the variables NAMES ("A:B:..."). Files are
# called PREFIX_ and what the kind is made of.
function(weft_instantiate TEMPLATE PREFIX NAMES)
  string(REPLACE ":" ";" names ${NAMES})
  foreach(kind ${ARGN})
    string(REPLACE ":" "_" suffix ${kind})
    string(REPLACE ":" ";" values ${kind})
    list(POP_FRONT values storage)
    set(STORAGE ${storage_${storage}})
    foreach(name value IN ZIP_LISTS names values)
      set(${name} ${value})
    endforeach()
    set(file ${CMAKE_CURRENT_BINARY_DIR}/cuda/${PREFIX}_${suffix}.cu)
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${TEMPLATE} ${file} @ONLY)
    target_sources(weft_kernels PRIVATE ${file})
  endforeach()
endfunction()

# A kind that is missing here falls back to the next more general one (see launch.cpp): source, averaged and weighted are
# scaled, written without an epilogue.
foreach(storage float half bfloat16)
  foreach(kind source:sum averaged:sum weighted:sum scaled:sum edgewise:sum scaled:extremum edgewise:extremum scaled:winner edgewise:winner)
    weft_instantiate(tasks.cu.in spmm MESSAGE:REDUCTION ${storage}:${kind})
  endforeach()
endforeach()
weft_instantiate(tasks.cu.in spmm MESSAGE:REDUCTION
  double:scaled:sum double:edgewise:sum double:scaled:winner double:edgewise:winner)
# Sums of rows of few features; the same messages fall back in the same way.
weft_instantiate(narrow.cu.in spmm_narrow MESSAGE
  float:source float:weighted float:scaled half:source half:weighted half:scaled
  bfloat16:source bfloat16:weighted bfloat16:scaled double:scaled)
# Sums with edges staged in shared memory, so many at a time: 128 for rows of few features.
# The rest is for comparison (GNNOne's and HalfGNN's tables).
weft_instantiate(staged.cu.in spmm_staged TILE float:32 float:128 half:32 half:64 half:128 bfloat16:128)
# Batches of halves in pairs, as HalfGNN adds them up.
weft_instantiate(pairs.cu.in spmm_pairs MESSAGE half:source half:weighted bfloat16:source bfloat16:weighted)
# Attention: sums with weights computed on the way, and its gradients.
foreach(storage float half bfloat16 double)
  weft_instantiate(attended.cu.in spmm WAY ${storage}:attended ${storage}:returned ${storage}:leaned)
  weft_instantiate(scored.cu.in spmm WAY ${storage}:scored)
endforeach()
