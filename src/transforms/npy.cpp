#include "transforms/npy.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

namespace tutti::transforms {
namespace {

using ir::DType;
using ir::Tensor;

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeaderBytes = 1 << 20;

struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr TypeCode kTypes[] = {
    {"b1", DType::kBool},      {"i1", DType::kInt8},        {"i2", DType::kInt16},   {"i4", DType::kInt32},
    {"i8", DType::kInt64},     {"u1", DType::kUInt8},       {"u2", DType::kUInt16},  {"u4", DType::kUInt32},
    {"u8", DType::kUInt64},    {"f2", DType::kFloat16},     {"f4", DType::kFloat32}, {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

struct Header {
  DType dtype = DType::kUndefined;
  bool fortran_order = false;
  ir::Dims dims;
};

// The text after 'key': in the header's dictionary, from its first significant character.
std::string_view after_key(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{0}{1}{0}", quote, key);
    const size_t found = header.find(quoted);
    if (found == std::string_view::npos) continue;
    std::string_view rest = header.substr(found + quoted.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
    return rest;
  }
  return {};
}

Result<DType> parse_type(std::string_view text) {
  const std::string_view code = text.size() > 2 ? text.substr(1, text.find_first_of("'\"", 1) - 1) : text;
  if (code.size() > 1 && (code[0] == '<' || code[0] == '|' || code[0] == '='))
    for (const TypeCode& type : kTypes)
      if (type.code == code.substr(1)) return type.dtype;
  return make_error(Code::kInvalidInput,
                    "element type: found '{}', expected a little-endian number type such as <f4 or <i8",
                    code.substr(0, 40));
}

Result<ir::Dims> parse_dims(std::string_view text) {
  const size_t end = text.find(')');
  const Error bad =
      make_error(Code::kInvalidInput, "shape: found '{}', expected a tuple such as (2, 3)", text.substr(0, 40));
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return bad;
  ir::Dims dims;
  const char* at = text.data() + 1;
  const char* stop = text.data() + end;
  while (at < stop) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t value = 0;
    const auto [next, code] = std::from_chars(at, stop, value);
    if (code != std::errc() || value < 0) return bad;
    dims.push_back(value);
    at = next;
  }
  return dims;
}

Result<Header> parse_header(std::string_view text) {
  Header header;
  header.dtype = TUTTI_TRY(parse_type(after_key(text, "descr")));
  header.fortran_order = after_key(text, "fortran_order").starts_with("True");
  header.dims = TUTTI_TRY(parse_dims(after_key(text, "shape")));
  TUTTI_TRY(ir::checked_element_count(header.dims));
  return header;
}

Result<Header> read_header(std::istream& file) {
  char start[8] = {};
  file.read(start, 8);
  if (!file || std::string_view(start, 6) != kMagic)
    return make_error(Code::kInvalidInput, "found no .npy magic, expected a file written by numpy.save");
  const int version = start[6];
  if (version < 1 || version > 3)
    return make_error(Code::kInvalidInput, "found .npy version {}, expected 1 to 3", version);
  unsigned char length[4] = {};
  const int length_bytes = version == 1 ? 2 : 4;
  file.read(reinterpret_cast<char*>(length), length_bytes);
  const size_t size = length[0] | length[1] << 8 | size_t{length[2]} << 16 | size_t{length[3]} << 24;
  if (!file || size > kMaxHeaderBytes)
    return make_error(Code::kInvalidInput, "found a header of {} bytes, expected at most {}", size, kMaxHeaderBytes);
  std::string text(size, ' ');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file)
    return make_error(Code::kInvalidInput, "found a file that ends inside its header, expected {} header bytes", size);
  return parse_header(text);
}

// Column-major data to row-major: element (i0, i1, ...) moves from sum(i*fortran_stride).
Tensor from_fortran(const Tensor& source) {
  Tensor out = Tensor::allocate(source.dtype(), source.dims());
  const size_t width = static_cast<size_t>(dtype_bits(source.dtype())) / 8;
  const ir::Dims strides = ir::row_major_strides(source.dims());
  for (int64_t i = 0; i < source.size(); ++i) {
    int64_t rest = i, from = 0, step = 1;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      from += rest / strides[axis] * step;
      rest %= strides[axis];
      step *= source.dim(static_cast<int64_t>(axis));
    }
    std::memcpy(static_cast<char*>(out.mutable_raw()) + static_cast<size_t>(i) * width,
                static_cast<const char*>(source.raw()) + static_cast<size_t>(from) * width, width);
  }
  return out;
}

Result<Tensor> read_body(std::ifstream& file, const Header& header) {
  const std::streamoff begin = file.tellg();
  file.seekg(0, std::ios::end);
  const int64_t found = file.tellg() - begin;
  file.seekg(begin);
  const int64_t expected = ir::element_count(header.dims) * dtype_bits(header.dtype) / 8;
  if (found < expected)
    return make_error(Code::kInvalidInput, "found {} bytes of data, expected {} for {}{}", found, expected,
                      dtype_name(header.dtype), ir::dims_text(header.dims));
  Tensor out = Tensor::allocate(header.dtype, header.dims);
  file.read(static_cast<char*>(out.mutable_raw()), expected);
  if (!file) return make_error(Code::kIo, "reading failed: {}", std::strerror(errno));
  // Bytes other than 0 and 1 are no C++ bools; NumPy takes any of them for true.
  if (header.dtype == DType::kBool)
    for (uint8_t& value : out.mutable_data<uint8_t>()) value = value != 0;
  return header.fortran_order && header.dims.size() > 1 ? from_fortran(out) : out;
}

Result<Tensor> read_file(const std::string& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);  // opening a pipe would wait for its writer
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return make_error(Code::kInvalidInput, "found no regular file, expected one written by numpy.save");
  std::ifstream file(path, std::ios::binary);
  if (!file) return make_error(Code::kNotFound, "cannot open: {}", std::strerror(errno));
  const Header header = TUTTI_TRY(read_header(file));
  return read_body(file, header);
}

const TypeCode* find_type(DType dtype) {
  for (const TypeCode& type : kTypes)
    if (type.dtype == dtype) return &type;
  return nullptr;
}

}  // namespace

Result<Tensor> read_npy(const std::string& path) { return read_file(path).with_context(path); }

bool npy_supports(DType dtype) { return find_type(dtype) != nullptr; }

Status write_npy(const std::string& path, const Tensor& tensor) {
  const TypeCode* type = find_type(tensor.dtype());
  if (!type)
    return make_error(Code::kUnsupported, "{}: NumPy has no element type {}", path, dtype_name(tensor.dtype()));
  std::string dims;
  for (const int64_t d : tensor.dims()) dims += fmt::format("{}, ", d);
  const char order = dtype_bits(tensor.dtype()) > 8 ? '<' : '|';
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, type->code, dims);
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');  // data starts at a multiple of 64
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const char version_and_size[] = {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  file << kMagic;
  file.write(version_and_size, 4);
  file << header;
  file.write(static_cast<const char*>(tensor.raw()), static_cast<std::streamsize>(tensor.size_bytes()));
  file.close();
  if (!file)
    return make_error(Code::kIo, "{}: writing {} bytes failed: {}", path, tensor.size_bytes(), std::strerror(errno));
  return {};
}

}  // namespace tutti::transforms
