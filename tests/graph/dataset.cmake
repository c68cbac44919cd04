weft_test(graph_dataset_planetoid LAYERS core graph SOURCES dataset/test_pickle.cpp dataset/test_planetoid.cpp)
