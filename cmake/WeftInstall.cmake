# What `cmake --install` puts in place: headers, the two libraries, the weft command, and the files by which
# find_package(weft) and pkg-config find them. All of it can be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A static library leaves its own dependencies to whoever links it, so the exported target names them.
target_link_libraries(weft PRIVATE ${CMAKE_DL_LIBS} fmt::fmt Threads::Threads ZLIB::ZLIB BZip2::BZip2 PkgConfig::lzma PkgConfig::zstd
  PkgConfig::libzip PkgConfig::hwy)
target_link_libraries(weft_nn_library PRIVATE fmt::fmt PkgConfig::hwy)
if(WEFT_HAS_CUDA)
  target_link_libraries(weft PRIVATE ${WEFT_CUDA_RUNTIME})
  target_link_libraries(weft_nn_library PRIVATE ${WEFT_CUDA_RUNTIME})
endif()

get_target_property(library_type weft TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(WEFT_STATIC ON)
else()
  set(WEFT_STATIC OFF)
endif()

# The libraries find each other wherever they are moved to together, and CUDA's where they were linked.
set_target_properties(weft weft_nn_library PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS weft weft_nn_library EXPORT weft-targets
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
  # The command may be linked with libraries the loader does not search by itself, such as a peer of the bench.
  set_target_properties(weft_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}" INSTALL_RPATH_USE_LINK_PATH ON)
  # Without shared libraries of weft's own, the command is linked with this path at once: CMake would fill the place of
  # it up with colons, and the loader takes an empty entry for the current folder.
  if(NOT BUILD_SHARED_LIBS)
    set_target_properties(weft_cli PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
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

# pkg-config: weft, and weft-nn on top of it. Of a static library everything it needs is public: plain
# `pkg-config --libs weft` links.
set(libraries_needed " -lbz2 -ldl")
if(WEFT_HAS_CUDA)
  set(cuda_folder "-L${CUDAToolkit_LIBRARY_DIR}")
  string(APPEND libraries_needed " ${cuda_folder} $<IF:$<BOOL:${WEFT_STATIC}>,-lcudart_static -lrt,-lcudart>")
endif()
file(RELATIVE_PATH WEFT_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WEFT_PC_TO_PREFIX "${WEFT_PC_TO_PREFIX}")

# weft_pkg_config(NAME LIBRARY DESCRIPTION OWN PACKAGES LIBRARIES): OWN names weft's own package beneath, or nothing.
function(weft_pkg_config name library description own packages libraries)
  set(WEFT_PC_NAME ${name})
  set(WEFT_PC_DESCRIPTION ${description})
  if(WEFT_STATIC)
    string(JOIN ", " all ${own} ${packages})
    set(WEFT_PC_REQUIRES "Requires: ${all}")
    set(WEFT_PC_LIBS "Libs: -L\${libdir} -Wl,--gc-sections -l${library}${libraries}")
  else()
    string(JOIN ", " all ${packages})
    set(WEFT_PC_REQUIRES "Requires: ${own}\nRequires.private: ${all}")
    set(WEFT_PC_LIBS "Libs: -L\${libdir} -l${library}\nLibs.private:${libraries}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft.pc.in ${PROJECT_BINARY_DIR}/cmake/${name}.pc.in @ONLY)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/cmake/${name}.pc INPUT ${PROJECT_BINARY_DIR}/cmake/${name}.pc.in)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
weft_pkg_config(weft weft "${PROJECT_DESCRIPTION}" "" "fmt;libzip;zlib;liblzma;libzstd;libhwy" "${libraries_needed}")
weft_pkg_config(weft-nn weft_nn "Models and training on weft's operators" weft "fmt;libhwy" "")

# A Debian package: `make package` (the shared libraries, by the package preset).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_CONTACT "the weft maintainers <weft@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Whoever compiles against the package needs the headers of what static linking and the CMake files name.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libfmt-dev, libzip-dev, zlib1g-dev, libbz2-dev, liblzma-dev, libzstd-dev, libhwy-dev")
include(CPack)
