weft_test(graph_dataset LAYERS core graph SOURCES
  dataset/test_dataset.cpp dataset/test_edge_list.cpp dataset/test_edge_dialects.cpp dataset/test_metis.cpp dataset/test_npz_dataset.cpp dataset/test_builtin.cpp
  dataset/test_lookup.cpp dataset/test_graphsaint.cpp dataset/test_reddit.cpp dataset/test_tu.cpp dataset/test_pickle.cpp
  dataset/test_planetoid.cpp dataset/test_npz_rows.cpp dataset/test_npz_edges.cpp dataset/test_ogb_arrays.cpp dataset/test_ogb_splits.cpp
  dataset/test_ogb_tables.cpp dataset/test_splits.cpp dataset/test_attach.cpp
  dataset/test_attach_splits.cpp)
target_link_libraries(test_graph_dataset PRIVATE PkgConfig::libzip)  # tests make archives
