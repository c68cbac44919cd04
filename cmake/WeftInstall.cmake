# What `cmake --install` puts in place: headers, library, the weft command, and the files by which
# find_package(weft) and pkg-config find them. All of it can be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A static library leaves its own dependencies to whoever links it, so the exported target names them.
target_link_libraries(weft PRIVATE fmt::fmt Threads::Threads OpenMP::OpenMP_CXX ZLIB::ZLIB
  PkgConfig::libzip PkgConfig::hwy PkgConfig::openblas)
if(WEFT_HAS_CUDA)
  target_link_libraries(weft PRIVATE CUDA::cudart_static CUDA::cublas)
endif()

get_target_property(library_type weft TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(WEFT_STATIC ON)
else()
  set(WEFT_STATIC OFF)
endif()

install(TARGETS weft EXPORT weft-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
if(TARGET weft_shell_files)
  get_target_property(shell_files weft_shell_files WEFT_FOLDER)
  install(FILES ${shell_files}/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${shell_files}/weft DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${shell_files}/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${shell_files}/weft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
if(TARGET weft_cli)
  file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  # The command may be linked with libraries the loader does not search by itself, such as cuSPARSE.
  set_target_properties(weft_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS weft_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# find_package(weft)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/weft-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/cmake/weft-config.cmake ${PROJECT_BINARY_DIR}/cmake/weft-config-version.cmake
  DESTINATION ${package_folder})

# pkg-config. Of a static library everything it needs is public: plain `pkg-config --libs weft` links.
set(libraries_needed)
foreach(library IN LISTS OpenMP_CXX_LIB_NAMES)
  string(APPEND libraries_needed " -l${library}")
endforeach()
if(WEFT_HAS_CUDA)
  string(APPEND libraries_needed " -L${CUDAToolkit_LIBRARY_DIR} -lcublas -lcudart_static -ldl -lrt")
endif()
set(WEFT_PC_PACKAGES "fmt, libzip, zlib, libhwy, openblas")
if(WEFT_STATIC)
  set(WEFT_PC_REQUIRES "Requires: ${WEFT_PC_PACKAGES}")
  set(WEFT_PC_LIBS "Libs: -L\${libdir} -lweft${libraries_needed}")
else()
  set(WEFT_PC_REQUIRES "Requires.private: ${WEFT_PC_PACKAGES}")
  set(WEFT_PC_LIBS "Libs: -L\${libdir} -lweft\nLibs.private:${libraries_needed}")
endif()
file(RELATIVE_PATH WEFT_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WEFT_PC_TO_PREFIX "${WEFT_PC_TO_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.pc.in ${PROJECT_BINARY_DIR}/cmake/weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
