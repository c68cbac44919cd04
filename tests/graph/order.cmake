weft_test(graph_order LAYERS core graph SOURCES order/test_louvain.cpp order/test_loa.cpp order/test_reordered.cpp)
