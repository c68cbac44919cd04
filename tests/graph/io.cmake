weft_test(graph_io LAYERS core graph SOURCES
  io/test_round_trip.cpp io/test_recognition.cpp io/test_weft_format.cpp io/test_npz_format.cpp io/test_npy.cpp
  io/test_mtx_format.cpp io/test_text_scan.cpp io/test_text_table.cpp io/test_text_blocks.cpp io/test_delimited.cpp
  io/test_csr_format.cpp io/test_unpacker.cpp io/test_truncation.cpp io/test_foreign.cpp io/test_atomic_writer.cpp
  io/test_damage.cpp io/test_note.cpp io/test_real_files.cpp
  # what fuzzing of the readers relies on
  ../fuzz/test_mend.cpp ../fuzz/mend.cpp ../fuzz/mend_weft.cpp ../fuzz/mend_zip.cpp ../fuzz/mend_gzip.cpp
  ../fuzz/mend_bzip2.cpp ../fuzz/mend_xz.cpp ../fuzz/mend_zstd.cpp ../fuzz/mend_safetensors.cpp ../fuzz/inflated.cpp)
target_link_libraries(test_graph_io PRIVATE PkgConfig::libzip ZLIB::ZLIB BZip2::BZip2 PkgConfig::lzma PkgConfig::zstd
  nlohmann_json::nlohmann_json)  # tests make archives that weft would not
