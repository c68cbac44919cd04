target_sources(weft_kernels PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/spmm.cpp
  ${CMAKE_CURRENT_LIST_DIR}/leaky.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sddmm.cpp
  ${CMAKE_CURRENT_LIST_DIR}/softmax.cpp
  ${CMAKE_CURRENT_LIST_DIR}/attention.cpp)
