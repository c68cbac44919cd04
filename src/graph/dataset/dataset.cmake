# Datasets: one reader a layout, and what is common to them.
foreach(source dataset npz_dataset edge_list ogb)
  target_sources(weft_graph PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
