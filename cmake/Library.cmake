# The libraries that other programs link, and what installs with them: headers, a CMake package, pkg-config files. docs/c_api.md.

# tutti_library(NAME FOLDER LINKS <libraries>): lib<NAME>.so from src/FOLDER/*.cpp (not below) and what these use of the layers. It
# exports what src/FOLDER/NAME.map lists and nothing else; the layers' own symbols stay inside.
function(tutti_library name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" LINKS)
  set(target ${name}_shared)
  set(map ${CMAKE_SOURCE_DIR}/src/${folder}/${name}.map)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  add_library(${target} SHARED ${sources})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${map} INSTALL_RPATH "$ORIGIN:$ORIGIN/tutti"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE TUTTI_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${target} PRIVATE tutti_flags ${arg_LINKS})
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  if(NOT TUTTI_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION lib)
endfunction()

# tutti_install_package(): after the libraries.
function(tutti_install_package)
  include(CMakePackageConfigHelpers)
  set(made ${TUTTI_GENERATED_DIR}/package)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/package/TuttiConfig.cmake.in ${made}/TuttiConfig.cmake @ONLY)
  # A minor version may change what is compiled against as long as the major one is 0.
  write_basic_package_version_file(${made}/TuttiConfigVersion.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/package/tutti.pc.in ${made}/tutti.pc @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/package/tutti_compile.pc.in ${made}/tutti_compile.pc @ONLY)
  install(FILES ${made}/TuttiConfig.cmake ${made}/TuttiConfigVersion.cmake DESTINATION lib/cmake/Tutti)
  install(FILES ${made}/tutti.pc ${made}/tutti_compile.pc DESTINATION lib/pkgconfig)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/tutti DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
endfunction()
