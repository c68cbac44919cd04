weft_test(graph_dataset LAYERS core graph SOURCES
  dataset/test_dataset.cpp dataset/test_edge_list.cpp dataset/test_npz_dataset.cpp dataset/test_builtin.cpp
  dataset/test_lookup.cpp dataset/test_graphsaint.cpp dataset/test_reddit.cpp dataset/test_tu.cpp dataset/test_pickle.cpp
  dataset/test_planetoid.cpp)
target_link_libraries(test_graph_dataset PRIVATE PkgConfig::libzip)  # tests make archives
