#include "onnx/tensor_file.h"

#include <fstream>

#include "base/mapped_file.h"
#include "onnx/reader.h"
#include "onnx/tensor_proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace tutti::onnx {
namespace {

using google::protobuf::internal::WireFormatLite;
using Bytes = std::span<const std::byte>;

constexpr int kMaxDepth = 32;
// Fields of SequenceProto and OptionalProto, which have the same numbers.
constexpr int kTensorField = 3, kSequenceField = 5, kOptionalField = 7;

Result<ir::Datum> read_kind(Bytes bytes, ProtoKind kind, int depth);

Result<ir::Datum> read_one_tensor(Bytes bytes) {
  pb::TensorProto proto;
  TUTTI_TRY(parse_message(bytes, kMaxDepth, "not a tensor file", proto));
  return ir::Datum(TUTTI_TRY(read_tensor(proto, {.take_data = true})));
}

// Calls `member(field, bytes)` for each length-delimited field; skips the others.
template <class Member>
Status for_each_member(Bytes bytes, Member member) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (WireFormatLite::SkipField(&stream, tag)) continue;
      break;
    }
    uint32_t length = 0;
    if (!stream.ReadVarint32(&length)) break;
    const size_t at = static_cast<size_t>(stream.CurrentPosition());
    if (length > bytes.size() - at || !stream.Skip(static_cast<int>(length))) break;
    TUTTI_TRY(member(WireFormatLite::GetTagFieldNumber(tag), bytes.subspan(at, length)));
  }
  if (stream.CurrentPosition() == static_cast<int>(bytes.size())) return {};
  return make_error(Code::kInvalidInput, "not a sequence or optional file: found bytes that are not protobuf at {}",
                    stream.CurrentPosition());
}

Result<ir::Datum> read_sequence(Bytes bytes) {
  ir::Datum::Sequence out;
  TUTTI_TRY(for_each_member(bytes, [&](int field, Bytes content) -> Status {
    if (field == kTensorField)
      out.push_back(std::move(TUTTI_TRY(read_one_tensor(content)).tensor()));
    else if (field > kTensorField)
      return make_error(Code::kUnsupported, "found a sequence of something else, expected one of tensors");
    return {};
  }));
  return ir::Datum(std::move(out));
}

Result<ir::Datum> read_optional(Bytes bytes, int depth) {
  ir::Datum out;
  TUTTI_TRY(for_each_member(bytes, [&](int field, Bytes content) -> Status {
    if (field == kTensorField) out = TUTTI_TRY(read_kind(content, ProtoKind::kTensor, depth + 1));
    if (field == kSequenceField) out = TUTTI_TRY(read_kind(content, ProtoKind::kSequence, depth + 1));
    if (field == kOptionalField) out = TUTTI_TRY(read_kind(content, ProtoKind::kOptional, depth + 1));
    return {};
  }));
  return out;
}

Result<ir::Datum> read_kind(Bytes bytes, ProtoKind kind, int depth) {
  if (depth > kMaxDepth) return make_error(Code::kLimit, "found optionals nested deeper than {}", kMaxDepth);
  if (bytes.size() > INT32_MAX) return make_error(Code::kLimit, "found {} bytes, expected at most 2 GiB", bytes.size());
  switch (kind) {
    case ProtoKind::kTensor: return read_one_tensor(bytes);
    case ProtoKind::kSequence: return read_sequence(bytes);
    case ProtoKind::kOptional: break;
  }
  return read_optional(bytes, depth);
}

}  // namespace

Result<ir::Datum> read_tensor_proto_file(const std::string& path, ProtoKind kind) {
  const MappedFile file = TUTTI_TRY(MappedFile::open(path));
  return read_kind(file.bytes(), kind, 0).with_context(path);
}

Status write_tensor_proto_file(const std::string& path, const ir::Tensor& tensor, const std::string& name) {
  pb::TensorProto proto;
  proto.set_name(name);
  write_tensor(tensor, proto);
  std::ofstream file(path, std::ios::binary);
  if (!file || !proto.SerializeToOstream(&file) || !file.flush())
    return make_error(Code::kIo, "{}: cannot write the tensor", path);
  return {};
}

}  // namespace tutti::onnx
