# tutti_layer(FOLDER LINKS <target_link_libraries arguments>): the static library tutti_<folder, '/' as '_'> from every .cpp under
# src/FOLDER. A folder without sources becomes an interface library, so that a layer may be linked before it is written.
function(tutti_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LINKS)
  string(REPLACE / _ name tutti_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE tutti_flags ${arg_LINKS})
    tutti_precompile(${name} tutti_common_headers)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    list(TRANSFORM arg_LINKS REPLACE "^(PUBLIC|PRIVATE)$" INTERFACE)
    target_link_libraries(${name} ${arg_LINKS})
  endif()
endfunction()

# tutti_program(NAME LINKS <libraries>): the program of every .cpp under apps/NAME, if there is one.
function(tutti_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LINKS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/apps/${name})
  target_compile_definitions(${name} PRIVATE TUTTI_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE tutti_flags ${arg_LINKS})
  # The option parser and JSON are large templates and run once: less optimisation halves their compile time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  tutti_precompile(${name} tutti_program_headers)
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# tutti_test(NAME FOLDER [THREADED] [ARGS <arguments>] LINKS <libraries>): one GoogleTest program of every .cpp under tests/FOLDER, registered
# with ctest, if there is one. It runs in the source root, and leaves its results as XML for tools/run_tests to count. THREADED: threads meet
# in it, so it is also built for ThreadSanitizer, which the others have nothing to show.
function(tutti_test name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg THREADED "" "ARGS;LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources OR (TUTTI_SANITIZE MATCHES thread AND NOT arg_THREADED))
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE
    TUTTI_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TUTTI_BINARY_DIR="${CMAKE_BINARY_DIR}" TUTTI_DEPS_DIR="${TUTTI_DEPS_DIR}")
  target_link_libraries(${name} PRIVATE tutti_flags tutti_test_support ${arg_LINKS} GTest::gmock GTest::gtest_main)
  tutti_precompile(${name} tutti_test_headers)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml;${TUTTI_TEST_ENVIRONMENT}")
endfunction()
