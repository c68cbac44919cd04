set(weft_generate_sources
  assemble.cpp datasets.cpp degrees.cpp lattice.cpp molecules.cpp options.cpp power.cpp powerlaw.cpp rmat.cpp spec.cpp uniform.cpp)
list(TRANSFORM weft_generate_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/generate/)
target_sources(weft_graph PRIVATE ${weft_generate_sources})
# The same graph on every machine: no fused multiply-adds, which GCC and clang use where the processor has them.
set_source_files_properties(${weft_generate_sources} PROPERTIES COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)
