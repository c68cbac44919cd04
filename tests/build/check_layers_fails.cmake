# The layer check itself must fail on a core file that includes the operators, and name it.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${SOURCE_DIR})
file(WRITE ${SOURCE_DIR}/src/ops/run.hpp "#pragma once\n")
file(WRITE ${SOURCE_DIR}/src/core/wrong.cpp "#include \"ops/run.hpp\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${SOURCE_DIR} -P ${SCRIPT}
  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT failed OR NOT output MATCHES "src/core/wrong.cpp: includes src/ops/run.hpp")
  message(FATAL_ERROR "a wrong include went through:\n${output}")
endif()
