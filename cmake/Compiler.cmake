# Language level, warnings, sanitizers and the compiler cache: everything that says how our own code is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g0 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1" CACHE STRING "" FORCE)

# With a compiler cache most compilations are skipped; without one, precompiled headers halve them. Not both: a cache that meets
# a precompiled header misses in every other checkout.
find_program(TUTTI_CCACHE ccache)
if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TUTTI_CCACHE})
endif()
set(tutti_precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(tutti_precompile OFF)
endif()
option(TUTTI_PRECOMPILED_HEADERS "Precompile the standard and third-party headers that most files read" ${tutti_precompile})

add_library(tutti_flags INTERFACE)
target_compile_options(tutti_flags INTERFACE
  -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers
  -Werror=return-type -Werror=unused-result -Werror=uninitialized -Werror=delete-non-virtual-dtor
  # Contraction would let a loop's main part and its tail round differently; kernels ask for fused multiply-add by name.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 warns falsely about moved std::optional and std::vector.
  target_compile_options(tutti_flags INTERFACE -Wno-maybe-uninitialized)
elseif(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(tutti_flags INTERFACE -Wthread-safety -Werror=thread-safety)
endif()

if(TUTTI_SANITIZE)
  add_compile_options(-fsanitize=${TUTTI_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TUTTI_SANITIZE})
  if(TUTTI_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# Headers are written as if this did not exist (tools/check_headers compiles each alone); it only saves time.
set(TUTTI_COMMON_HEADERS <algorithm> <cstring> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
  <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

# tutti_precompile(TARGET FROM): shares the precompiled headers of the target FROM.
function(tutti_precompile target from)
  if(TUTTI_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# tutti_precompiled_headers(TARGET KIND LIBRARY|EXECUTABLE LINKS <libraries> HEADERS <headers>): a target for others of its kind to
# share; position-independent code differs between the kinds.
function(tutti_precompiled_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KIND" "LINKS;HEADERS")
  if(NOT TUTTI_PRECOMPILED_HEADERS)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/generated/precompiled.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "int main() { return 0; }\n")
  endif()
  if(arg_KIND STREQUAL EXECUTABLE)
    add_executable(${target} ${source})
  else()
    add_library(${target} STATIC ${source})
  endif()
  target_link_libraries(${target} PRIVATE tutti_flags ${arg_LINKS})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
endfunction()
