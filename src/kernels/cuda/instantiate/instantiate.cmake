# The launches of gathers that are compiled. A file holds those of one storage type and kind: each file costs some five
# seconds before its first kernel, and files build side by side.
set(type_float float)
set(type_double double)
set(type_half __half)
set(type_bfloat16 __nv_bfloat16)
set(shape_and_stream "const GatherShape&, CUstream_st*)")

# f64 is for gradient checks, and has the general messages alone.
set(storages float half bfloat16)
if(WEFT_CUDA_F64)
  list(APPEND storages double)
endif()

# weft_launches(FILE LAUNCH_HEADER MESSAGE_HEADER LAUNCH...): the instantiations of all LAUNCHes.
function(weft_launches file LAUNCH_HEADER MESSAGE_HEADER)
  set(LAUNCHES)
  foreach(launch IN LISTS ARGN)
    string(APPEND LAUNCHES "template void ${launch};\n")
  endforeach()
  set(path ${CMAKE_CURRENT_BINARY_DIR}/cuda/${file}.cu)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/launch.cu.in ${path} @ONLY)
  target_sources(weft_kernels PRIVATE ${path})
endfunction()

# weft_gathers(FILE MESSAGE_HEADER STORAGE MESSAGE:REDUCTION...). A message that is missing falls back to the next more
# general one (see spmm/launch.cpp): Source, Averaged and Weighted are Scaled, stored without an epilogue.
function(weft_gathers file header storage)
  set(launches)
  foreach(kind IN LISTS ARGN)
    string(REGEX MATCH "(.*):(.*)" kind ${kind})
    set(message "${CMAKE_MATCH_1}<${type_${storage}}>")
    list(APPEND launches
      "launch_gather<${message}, Reduction::${CMAKE_MATCH_2}>(const GatherArgs<${message}>&, ${shape_and_stream}")
  endforeach()
  weft_launches(${file}_${storage} gather/launch.cuh ${header} ${launches})
endfunction()
foreach(storage float half bfloat16)
  weft_gathers(plain_sums messages/scalar.cuh ${storage} Source:sum Averaged:sum Weighted:sum)
  weft_gathers(scaled messages/scalar.cuh ${storage} Scaled:sum Scaled:extremum Scaled:winner)
  weft_gathers(edgewise messages/edgewise.cuh ${storage} Edgewise:sum Edgewise:extremum Edgewise:winner)
endforeach()
if(WEFT_CUDA_F64)
  weft_gathers(scaled messages/scalar.cuh double Scaled:sum Scaled:winner)
  weft_gathers(edgewise messages/edgewise.cuh double Edgewise:sum Edgewise:winner)
endif()

# Sums of rows of few features; the same messages fall back in the same way.
function(weft_narrow storage)
  set(launches)
  foreach(message IN LISTS ARGN)
    set(message "${message}<${type_${storage}}>")
    list(APPEND launches "launch_narrow<${message}>(const GatherArgs<${message}>&, int, CUstream_st*)")
  endforeach()
  weft_launches(narrow_${storage} gather/launch_narrow.cuh messages/scalar.cuh ${launches})
endfunction()
foreach(storage float half bfloat16)
  weft_narrow(${storage} Source Weighted Scaled)
endforeach()
if(WEFT_CUDA_F64)
  weft_narrow(double Scaled)
endif()

# Sums with edges staged in shared memory, so many at a time: 128 for rows of few features. The rest is for comparison
# (GNNOne's and HalfGNN's tables).
function(weft_staged storage)
  set(message "Weighted<${type_${storage}}>")
  set(launches)
  foreach(tile IN LISTS ARGN)
    list(APPEND launches
      "launch_staged<${message}, ${tile}>(const GatherArgs<${message}>&, const GatherShape&, bool, bool, CUstream_st*)")
  endforeach()
  weft_launches(staged_${storage} gather/launch_staged.cuh messages/scalar.cuh ${launches})
endfunction()
if(WEFT_ABLATIONS)
  weft_staged(float 32 128)
  weft_staged(half 32 64 128)
  weft_staged(bfloat16 128)
  set(paired half bfloat16)
else()
  weft_staged(float 128)
  weft_staged(half 128)
  weft_staged(bfloat16 128)
  set(paired)
endif()

# Batches of halves in pairs, as HalfGNN adds them up.
foreach(storage IN LISTS paired)
  set(launches)
  foreach(message Source Weighted)
    set(message "${message}<${type_${storage}}>")
    list(APPEND launches "launch_half_pairs<${message}>(const GatherArgs<${message}>&, ${shape_and_stream}")
  endforeach()
  weft_launches(half_pairs_${storage} gather/launch_half_pairs.cuh messages/scalar.cuh ${launches})
endforeach()

# Attention and its backward.
foreach(storage IN LISTS storages)
  set(type ${type_${storage}})
  weft_launches(gat_${storage} attention/launch.cuh attention/shared_weights.cuh
    "launch_by_heads<Gat<${type}>>(GatherArgs<Gat<${type}>>, ${shape_and_stream}")
  weft_launches(gat_backward_${storage} attention/launch.cuh attention/backward.cuh
    "launch_by_heads<GatBackward<${type}>>(GatherArgs<GatBackward<${type}>>, ${shape_and_stream}")
  weft_launches(vector_attention_${storage} attention/launch.cuh attention/vector_attention.cuh
    "launch_vector_scored<${type}>(GatherArgs<VectorScored<${type}>>, const GatherShape&, bool, CUstream_st*)"
    "launch_leaky_sum<${type}>(const GatherArgs<LeakySum<${type}>>&, ${shape_and_stream}")
endforeach()
