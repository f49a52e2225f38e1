#include "capi/engine.h"

#include "base/memory_info.h"
#include "builtin/backends.h"
#include "capi/guard.h"

namespace tutti::capi {
namespace {

Port port_of(const runtime::PortInfo& info) {
  Port port{.info = info, .dims = {}, .texts = {}, .symbols = {}};
  if (!info.type.shape) return port;
  for (const ir::Dim& dim : *info.type.shape) {
    port.dims.push_back(dim.constant().value_or(-1));
    port.texts.push_back(dim.is_constant() ? "" : dim.text());
  }
  for (const std::string& text : port.texts) port.symbols.push_back(text.empty() ? nullptr : text.c_str());
  return port;
}

std::vector<Port> ports_of(const std::vector<runtime::PortInfo>& infos) {
  std::vector<Port> ports;
  ports.reserve(infos.size());  // ports point into themselves
  for (const runtime::PortInfo& info : infos) ports.push_back(port_of(info));
  return ports;
}

Result<std::shared_ptr<const LoadedEngine>> load(const char* path, const tutti_engine_options& options) {
  TUTTI_TRY(check_threads(options.threads));
  auto loaded = std::make_shared<LoadedEngine>();
  loaded->backend = TUTTI_TRY(builtin::select_backend(options.device ? options.device : "auto"));
  runtime::EngineOptions engine_options;
  engine_options.threads = options.threads > 0 ? options.threads : usable_cpus();
  engine_options.memory_limit_bytes =
      options.memory_limit_bytes > 0 ? options.memory_limit_bytes : usable_memory_bytes();
  engine_options.backend = loaded->backend.get();
  engine_options.verify_weights = options.verify_weights != 0;
  auto engine = runtime::Engine::load(path, engine_options);
  if (!engine.ok()) {
    Error error = engine.take_error();
    return error.text().find(path) == std::string::npos ? std::move(error).with_context(path) : std::move(error);
  }
  loaded->engine = *std::move(engine);
  loaded->inputs = ports_of(loaded->engine->inputs());
  loaded->outputs = ports_of(loaded->engine->outputs());
  for (const auto& entry : loaded->engine->plan().graph.metadata()) loaded->metadata.emplace_back(entry);
  return std::shared_ptr<const LoadedEngine>(std::move(loaded));
}

tutti_port described(const Port& port) {
  const ir::ValueType& type = port.info.type;
  tutti_port out = TUTTI_PORT_INIT;
  out.name = port.info.name.c_str();
  out.dtype = static_cast<tutti_dtype>(type.dtype);
  out.rank = type.shape ? static_cast<int32_t>(port.dims.size()) : -1;
  out.dims = port.dims.data();
  out.symbols = port.symbols.data();
  out.is_sequence = type.kind == ir::ValueType::Kind::kSequence;
  out.is_optional = type.is_optional;
  return out;
}

Result<size_t> find(const std::vector<Port>& ports, std::string_view name, const char* kind) {
  std::string names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].info.name == name) return i;
    names += (names.empty() ? "" : ", ") + ports[i].info.name;
  }
  return make_error(Code::kNotFound, "{} '{}': found no {} of this name, expected one of: {}", kind, name, kind, names);
}

}  // namespace
}  // namespace tutti::capi

using tutti::Status;
using namespace tutti::capi;

tutti_code tutti_engine_load(const char* path, const tutti_engine_options* options, tutti_engine** engine,
                             tutti_error** error) {
  return guarded("tutti_engine_load", error, [&]() -> Status {
    TUTTI_TRY(require(path, "path"));
    TUTTI_TRY(require(engine, "engine"));
    const tutti_engine_options defaults = TUTTI_ENGINE_OPTIONS_INIT;
    auto handle = std::make_unique<tutti_engine>();
    handle->loaded = TUTTI_TRY(load(path, TUTTI_TRY(read_struct(options, defaults, "options"))));
    *engine = handle.release();
    return {};
  });
}

void tutti_engine_destroy(tutti_engine* engine) { delete engine; }

size_t tutti_engine_input_count(const tutti_engine* engine) { return engine ? engine->loaded->inputs.size() : 0; }
size_t tutti_engine_output_count(const tutti_engine* engine) { return engine ? engine->loaded->outputs.size() : 0; }

tutti_code tutti_engine_input(const tutti_engine* engine, size_t index, tutti_port* port, tutti_error** error) {
  return guarded("tutti_engine_input", error, [&]() -> Status {
    TUTTI_TRY(require(engine, "engine"));
    TUTTI_TRY(require_index(index, engine->loaded->inputs.size(), "input"));
    return write_struct(described(engine->loaded->inputs[index]), port, "port");
  });
}

tutti_code tutti_engine_output(const tutti_engine* engine, size_t index, tutti_port* port, tutti_error** error) {
  return guarded("tutti_engine_output", error, [&]() -> Status {
    TUTTI_TRY(require(engine, "engine"));
    TUTTI_TRY(require_index(index, engine->loaded->outputs.size(), "output"));
    return write_struct(described(engine->loaded->outputs[index]), port, "port");
  });
}

tutti_code tutti_engine_find_input(const tutti_engine* engine, const char* name, size_t* index, tutti_error** error) {
  return guarded("tutti_engine_find_input", error, [&]() -> Status {
    TUTTI_TRY(require(engine, "engine"));
    TUTTI_TRY(require(name, "name"));
    TUTTI_TRY(require(index, "index"));
    *index = TUTTI_TRY(find(engine->loaded->inputs, name, "input"));
    return {};
  });
}

tutti_code tutti_engine_find_output(const tutti_engine* engine, const char* name, size_t* index, tutti_error** error) {
  return guarded("tutti_engine_find_output", error, [&]() -> Status {
    TUTTI_TRY(require(engine, "engine"));
    TUTTI_TRY(require(name, "name"));
    TUTTI_TRY(require(index, "index"));
    *index = TUTTI_TRY(find(engine->loaded->outputs, name, "output"));
    return {};
  });
}

size_t tutti_engine_metadata_count(const tutti_engine* engine) { return engine ? engine->loaded->metadata.size() : 0; }

tutti_code tutti_engine_metadata(const tutti_engine* engine, size_t index, const char** key, const char** value,
                                 tutti_error** error) {
  return guarded("tutti_engine_metadata", error, [&]() -> Status {
    TUTTI_TRY(require(engine, "engine"));
    TUTTI_TRY(require_index(index, engine->loaded->metadata.size(), "metadata"));
    if (key) *key = engine->loaded->metadata[index].first.c_str();
    if (value) *value = engine->loaded->metadata[index].second.c_str();
    return {};
  });
}

uint64_t tutti_engine_memory_bytes(const tutti_engine* engine) {
  return engine ? engine->loaded->engine->stats().memory_used_bytes : 0;
}
