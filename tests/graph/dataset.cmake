weft_test(graph_dataset_graphsaint LAYERS core graph SOURCES dataset/test_graphsaint.cpp dataset/test_reddit.cpp)
target_link_libraries(test_graph_dataset_graphsaint PRIVATE PkgConfig::libzip)  # tests make archives
weft_test(graph_dataset_tu LAYERS core graph SOURCES dataset/test_tu.cpp)
