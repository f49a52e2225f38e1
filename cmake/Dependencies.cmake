# Third-party libraries: Debian's where Debian has them, the pinned wheels' contents (put by `make deps` into TUTTI_DEPS_DIR) otherwise.
if(DEFINED ENV{TUTTI_DEPS_DIR})
  set(tutti_deps_default $ENV{TUTTI_DEPS_DIR})
else()
  set(tutti_deps_default ${CMAKE_SOURCE_DIR}/.deps)
endif()
set(TUTTI_DEPS_DIR ${tutti_deps_default} CACHE PATH "Prefix that `make deps` filled")

function(tutti_require_file path)
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "${path} is missing: run `make deps` first (or point TUTTI_DEPS_DIR at a filled prefix)")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(tutti_xxhash INTERFACE)
target_include_directories(tutti_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(tutti_xxhash INTERFACE ${XXHASH_LIBRARY})

find_path(HWY_INCLUDE_DIR hwy/highway.h REQUIRED)
find_library(HWY_LIBRARY hwy REQUIRED)
add_library(tutti_hwy INTERFACE)
target_include_directories(tutti_hwy SYSTEM INTERFACE ${HWY_INCLUDE_DIR})
target_link_libraries(tutti_hwy INTERFACE ${HWY_LIBRARY})

find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_library(FLATBUFFERS_LIBRARY flatbuffers REQUIRED)
find_program(FLATC flatc REQUIRED)
add_library(tutti_flatbuffers INTERFACE)
target_include_directories(tutti_flatbuffers SYSTEM INTERFACE ${FLATBUFFERS_INCLUDE_DIR})
target_link_libraries(tutti_flatbuffers INTERFACE ${FLATBUFFERS_LIBRARY})

# The wheel's library was built with the old std::string: only its C functions and what dnnl.hpp makes of them may be used.
add_library(tutti_onednn INTERFACE)
# Its threads are OpenMP's; the wrapper sets their number.
target_link_libraries(tutti_onednn INTERFACE gomp)
if(TUTTI_SYSTEM_ONEDNN)
  find_package(dnnl 3 REQUIRED)
  target_link_libraries(tutti_onednn INTERFACE DNNL::dnnl)
else()
  set(tutti_onednn_dir ${TUTTI_DEPS_DIR}/onednn)
  tutti_require_file(${tutti_onednn_dir}/lib/libdnnl.so.3)
  add_library(tutti_onednn_shared SHARED IMPORTED)
  set_target_properties(tutti_onednn_shared PROPERTIES
    IMPORTED_LOCATION ${tutti_onednn_dir}/lib/libdnnl.so.3
    IMPORTED_SONAME libdnnl.so.3
    INTERFACE_INCLUDE_DIRECTORIES ${tutti_onednn_dir}/include)
  target_link_libraries(tutti_onednn INTERFACE tutti_onednn_shared)
  install(FILES ${tutti_onednn_dir}/lib/libdnnl.so.3 DESTINATION lib/tutti)
endif()
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/tutti")
