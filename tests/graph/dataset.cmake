weft_test(graph_dataset_ogb LAYERS core graph SOURCES
  dataset/test_ogb_tables.cpp dataset/test_ogb_arrays.cpp dataset/test_ogb_splits.cpp dataset/test_npz_rows.cpp)
target_link_libraries(test_graph_dataset_ogb PRIVATE PkgConfig::libzip ZLIB::ZLIB)  # tests make archives of their own
