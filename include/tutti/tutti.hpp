// Tutti for C++17: owners over tutti.h. Failures are thrown as tutti::Error; what is thread-safe, borrowed or kept is
// as tutti.h says. Header only; link libtutti.
#ifndef TUTTI_TUTTI_HPP
#define TUTTI_TUTTI_HPP

#include <tutti/tutti.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti {
inline namespace v0 {

// what() says what was found and what was expected, hint() what to do about it (may be empty).
class Error : public std::runtime_error {
 public:
  Error(tutti_code code, const std::string& text, std::string hint = {})
      : std::runtime_error(text), code_(code), hint_(std::move(hint)) {}
  tutti_code code() const noexcept { return code_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  tutti_code code_;
  std::string hint_;
};

namespace detail {

struct Destroy {
  void operator()(tutti_error* error) const { tutti_error_destroy(error); }
  void operator()(tutti_engine* engine) const { tutti_engine_destroy(engine); }
  void operator()(tutti_context* context) const { tutti_context_destroy(context); }
};

// Calls `call(..., tutti_error**)` and throws what it reports.
template <class Call, class... Args>
void check(const Call& call, Args&&... args) {
  tutti_error* raw = nullptr;
  const tutti_code code = call(std::forward<Args>(args)..., &raw);
  const std::unique_ptr<tutti_error, Destroy> error(raw);
  if (code != TUTTI_OK) throw Error(code, tutti_error_text(raw), tutti_error_hint(raw));
}

template <class T>
constexpr tutti_dtype dtype_of() {
  if (std::is_same<T, float>::value) return TUTTI_FLOAT32;
  if (std::is_same<T, double>::value) return TUTTI_FLOAT64;
  if (std::is_same<T, bool>::value) return TUTTI_BOOL;
  if (!std::is_integral<T>::value) return TUTTI_UNDEFINED;
  if (std::is_signed<T>::value)
    return sizeof(T) == 1 ? TUTTI_INT8 : sizeof(T) == 2 ? TUTTI_INT16 : sizeof(T) == 4 ? TUTTI_INT32 : TUTTI_INT64;
  return sizeof(T) == 1 ? TUTTI_UINT8 : sizeof(T) == 2 ? TUTTI_UINT16 : sizeof(T) == 4 ? TUTTI_UINT32 : TUTTI_UINT64;
}

}  // namespace detail

// Throws when the library that was loaded does not fit the headers that the caller was compiled with.
inline void check_api_version() { detail::check(tutti_check_api_version, TUTTI_API_VERSION); }

// An input or output as declared.
struct Port {
  std::string name;
  tutti_dtype dtype = TUTTI_UNDEFINED;
  std::optional<std::vector<int64_t>> dims;  // none: any rank; -1: open
  std::vector<std::string> symbols;          // by dimension: what an open one is called, "" where fixed
  bool is_sequence = false, is_optional = false;
};

// A tensor that somebody else owns.
class TensorView {
 public:
  explicit TensorView(const tutti_tensor& tensor) : tensor_(tensor) {}

  tutti_dtype dtype() const { return tensor_.dtype; }
  std::vector<int64_t> dims() const { return {tensor_.dims, tensor_.dims + tensor_.rank}; }
  size_t size_bytes() const { return tensor_.size_bytes; }
  const void* raw() const { return tensor_.data; }
  // Elements.
  size_t size() const {
    size_t count = 1;
    for (int32_t i = 0; i < tensor_.rank; ++i) count *= static_cast<size_t>(tensor_.dims[i]);
    return count;
  }
  // Throws for another type than T.
  template <class T>
  const T* data() const {
    static_assert(detail::dtype_of<T>() != TUTTI_UNDEFINED, "use raw() for this type");
    require(detail::dtype_of<T>());
    return static_cast<const T*>(tensor_.data);
  }
  template <class T>
  std::vector<T> to_vector() const {
    const T* const first = data<T>();
    return std::vector<T>(first, first + size());
  }
  std::vector<std::string> strings() const {
    require(TUTTI_STRING);
    const auto* const first = static_cast<const char* const*>(tensor_.data);
    return std::vector<std::string>(first, first + size());
  }

 private:
  void require(tutti_dtype wanted) const {
    if (tensor_.dtype == wanted) return;
    throw Error(TUTTI_ERROR_USAGE, std::string("tensor: found ") + tutti_dtype_name(tensor_.dtype) + ", expected " +
                                       tutti_dtype_name(wanted));
  }
  tutti_tensor tensor_;
};

struct EngineOptions {
  int threads = 0;                  // 0: every CPU that the process may use
  uint64_t memory_limit_bytes = 0;  // 0: the machine's memory
  std::string device = "auto";
  bool verify_weights = false;
};

// Thread-safe. Movable.
class Engine {
 public:
  explicit Engine(const std::string& path, const EngineOptions& options = {}) {
    check_api_version();
    tutti_engine_options c = TUTTI_ENGINE_OPTIONS_INIT;
    c.threads = options.threads;
    c.memory_limit_bytes = options.memory_limit_bytes;
    c.device = options.device.c_str();
    c.verify_weights = options.verify_weights ? 1 : 0;
    tutti_engine* raw = nullptr;
    detail::check(tutti_engine_load, path.c_str(), &c, &raw);
    handle_.reset(raw);
  }

  std::vector<Port> inputs() const { return ports(tutti_engine_input_count(get()), tutti_engine_input); }
  std::vector<Port> outputs() const { return ports(tutti_engine_output_count(get()), tutti_engine_output); }
  size_t input_index(const std::string& name) const { return find(tutti_engine_find_input, name); }
  size_t output_index(const std::string& name) const { return find(tutti_engine_find_output, name); }
  std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> out;
    for (size_t i = 0; i < tutti_engine_metadata_count(get()); ++i) {
      const char *key = nullptr, *value = nullptr;
      detail::check(tutti_engine_metadata, get(), i, &key, &value);
      out[key] = value;
    }
    return out;
  }
  uint64_t memory_bytes() const { return tutti_engine_memory_bytes(get()); }
  tutti_engine* get() const { return handle_.get(); }

 private:
  template <class Describe>
  std::vector<Port> ports(size_t count, const Describe& describe) const {
    std::vector<Port> out(count);
    for (size_t i = 0; i < count; ++i) {
      tutti_port c = TUTTI_PORT_INIT;
      detail::check(describe, get(), i, &c);
      out[i].name = c.name;
      out[i].dtype = c.dtype;
      if (c.rank >= 0) out[i].dims.emplace(c.dims, c.dims + c.rank);
      for (int32_t d = 0; d < c.rank; ++d) out[i].symbols.emplace_back(c.symbols[d] ? c.symbols[d] : "");
      out[i].is_sequence = c.is_sequence != 0;
      out[i].is_optional = c.is_optional != 0;
    }
    return out;
  }
  template <class Find>
  size_t find(const Find& call, const std::string& name) const {
    size_t index = 0;
    detail::check(call, get(), name.c_str(), &index);
    return index;
  }
  std::unique_ptr<tutti_engine, detail::Destroy> handle_;
};

// One thread at a time. Movable. Keeps the engine alive.
class Context {
 public:
  explicit Context(const Engine& engine) {
    tutti_context* raw = nullptr;
    detail::check(tutti_context_create, engine.get(), &raw);
    handle_.reset(raw);
  }

  // Borrows the data, as tutti_context_set_input says.
  void set_input(size_t index, const tutti_tensor& tensor) {
    detail::check(tutti_context_set_input, get(), index, &tensor);
  }
  template <class T>
  void set_input(size_t index, const T* data, size_t count, const std::vector<int64_t>& dims) {
    static_assert(detail::dtype_of<T>() != TUTTI_UNDEFINED, "fill in a tutti_tensor for this type");
    tutti_tensor tensor = TUTTI_TENSOR_INIT;
    tensor.dtype = detail::dtype_of<T>();
    tensor.rank = static_cast<int32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = data;
    tensor.size_bytes = count * sizeof(T);
    set_input(index, tensor);
  }
  // Anything with data() and size(): a vector, an array, a span. Not a temporary: it is borrowed.
  template <class Container>
  auto set_input(size_t index, const Container& values, const std::vector<int64_t>& dims)
      -> decltype(values.data(), void()) {
    set_input(index, values.data(), values.size(), dims);
  }
  template <class Container>
  void set_input(size_t index, const Container&& values, const std::vector<int64_t>& dims) = delete;
  void clear_input(size_t index) {
    detail::check(tutti_context_set_input, get(), index, static_cast<const tutti_tensor*>(nullptr));
  }
  // Copies the strings.
  void set_strings(size_t index, const std::vector<std::string>& values, const std::vector<int64_t>& dims) {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    tutti_tensor tensor = TUTTI_TENSOR_INIT;
    tensor.dtype = TUTTI_STRING;
    tensor.rank = static_cast<int32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = texts.data();
    tensor.size_bytes = texts.size() * sizeof(char*);
    set_input(index, tensor);
  }

  void bind_output(size_t index, void* data, size_t capacity_bytes) {
    detail::check(tutti_context_bind_output, get(), index, data, capacity_bytes);
  }
  template <class T>
  void bind_output(size_t index, std::vector<T>& buffer) {
    bind_output(index, buffer.data(), buffer.size() * sizeof(T));
  }
  void unbind_output(size_t index) { bind_output(index, nullptr, 0); }

  void run(uint64_t seed = 0) { detail::check(tutti_context_run, get(), seed); }

  // Valid until the next run or until the context goes.
  TensorView output(size_t index) const {
    tutti_tensor tensor = TUTTI_TENSOR_INIT;
    detail::check(tutti_context_output, get(), index, &tensor);
    return TensorView(tensor);
  }
  tutti_context* get() const { return handle_.get(); }

 private:
  std::unique_ptr<tutti_context, detail::Destroy> handle_;
};

}  // namespace v0
}  // namespace tutti

#endif  // TUTTI_TUTTI_HPP
