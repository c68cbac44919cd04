weft_test(graph_generate LAYERS core graph SOURCES
  generate/test_random.cpp generate/test_golden.cpp generate/test_shapes.cpp generate/test_powerlaw.cpp
  generate/test_datasets.cpp generate/test_spec.cpp)
target_compile_definitions(test_graph_generate PRIVATE
  WEFT_GENERATORS_PAGE="${PROJECT_SOURCE_DIR}/docs/generators.md")
