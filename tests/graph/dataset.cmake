weft_test(graph_dataset_builtin LAYERS core graph SOURCES dataset/test_builtin.cpp dataset/test_lookup.cpp)
