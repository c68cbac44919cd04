# Orders of nodes: Louvain's communities, LOA, degrees.
foreach(source dendrogram loa louvain louvain_cpu reordered reordering)
  target_sources(weft_graph PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
if(WEFT_HAS_CUDA)
  foreach(source louvain_gpu.cpp cuda/loa.cu cuda/louvain_graph.cu cuda/louvain_moves.cu)
    target_sources(weft_graph PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source})
  endforeach()
endif()
