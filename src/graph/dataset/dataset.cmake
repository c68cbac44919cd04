# Datasets: one reader a layout, and what is common to them.
foreach(source dataset compressed_rows label_table npz_dataset npz_edges npz_rows npz_splits graphsaint reddit tu ogb edge_list
    edge_layout edge_records metis builtin karate citations known_names lookup pickle
    pickle_strings pickled_arrays planetoid splits node_rows node_table feature_file label_file split_file attach)
  target_sources(weft_graph PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
