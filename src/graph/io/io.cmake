# Graph files: one reader and writer a format, and what they share.
foreach(source
    registry source source_unpacked folder text_blocks text_chunks text_table edge_table delimited f32_text json_events file mapped_file
    packing codec unpacker foreign atomic_writer output_target checksum gzip npy npy_file edge_ends npz_arrays scipy_matrix
    zip_reader zip_writer text_scan values note
    weft_read weft_write npz_format mtx_format mtx_read mtx_write csr_format)
  target_sources(weft_graph PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
