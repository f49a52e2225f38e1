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

find_program(TUTTI_CCACHE ccache)
if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TUTTI_CCACHE})
endif()

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
