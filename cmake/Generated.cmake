# Code generated at build time, all under <build>/generated: ONNX's protobuf messages and the engine format's FlatBuffers readers.
set(TUTTI_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${TUTTI_GENERATED_DIR}/onnx_proto ${TUTTI_GENERATED_DIR}/engine)

# Included as "onnx.pb.h".
set(tutti_onnx_schema ${TUTTI_DEPS_DIR}/onnx/onnx.proto)
tutti_require_file(${tutti_onnx_schema})
add_custom_command(
  OUTPUT ${TUTTI_GENERATED_DIR}/onnx_proto/onnx.pb.cc ${TUTTI_GENERATED_DIR}/onnx_proto/onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${TUTTI_DEPS_DIR}/onnx --cpp_out=${TUTTI_GENERATED_DIR}/onnx_proto onnx.proto
  DEPENDS ${tutti_onnx_schema})
add_library(tutti_onnx_proto STATIC ${TUTTI_GENERATED_DIR}/onnx_proto/onnx.pb.cc ${TUTTI_GENERATED_DIR}/onnx_proto/onnx.pb.h)
target_include_directories(tutti_onnx_proto SYSTEM PUBLIC ${TUTTI_GENERATED_DIR}/onnx_proto)
target_link_libraries(tutti_onnx_proto PUBLIC protobuf::libprotobuf)
target_compile_options(tutti_onnx_proto PRIVATE -w)

# src/engine/NAME.fbs is included as "engine/NAME_generated.h".
file(GLOB tutti_schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/engine/*.fbs)
set(tutti_schema_headers)
foreach(schema IN LISTS tutti_schemas)
  get_filename_component(name ${schema} NAME_WE)
  set(header ${TUTTI_GENERATED_DIR}/engine/${name}_generated.h)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${FLATC} --cpp --scoped-enums -o ${TUTTI_GENERATED_DIR}/engine ${schema}
    DEPENDS ${tutti_schemas})
  list(APPEND tutti_schema_headers ${header})
endforeach()
add_custom_target(tutti_engine_schema_headers DEPENDS ${tutti_schema_headers})
add_library(tutti_engine_schema INTERFACE)
target_include_directories(tutti_engine_schema SYSTEM INTERFACE ${TUTTI_GENERATED_DIR})
target_link_libraries(tutti_engine_schema INTERFACE tutti_flatbuffers)
add_dependencies(tutti_engine_schema tutti_engine_schema_headers)
