#include "onnx/reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace tutti::onnx {
namespace {

constexpr uint64_t kProtobufLimit = 0x7fffffff;
constexpr int kMessagesPerNesting = 3;  // graph, node, attribute
constexpr int kFlatMessages = 40;       // types, tensors, metadata below a graph

}  // namespace

Status parse_message(std::span<const std::byte> bytes, int max_depth, const std::string& what,
                     google::protobuf::MessageLite& message) {
  if (bytes.size() > kProtobufLimit)
    return make_error(Code::kLimit, "{}: found {} bytes, expected at most 2 GiB (protobuf's limit)", what, bytes.size())
        .with_hint("save the model with its weights as external data");
  google::protobuf::io::ArrayInputStream raw(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&raw);
  stream.SetTotalBytesLimit(static_cast<int>(kProtobufLimit));
  stream.SetRecursionLimit(max_depth);
  // Partial: proto2's required fields do not occur in ONNX, and a partial parse never prints.
  const bool whole = message.ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage() &&
                     stream.CurrentPosition() == static_cast<int>(bytes.size());
  if (whole) return {};
  return make_error(Code::kInvalidModel,
                    "{}: found bytes that are not protobuf at about {} of {}, expected a complete message", what,
                    stream.CurrentPosition(), bytes.size());
}

Result<std::unique_ptr<pb::ModelProto>> parse_model(std::span<const std::byte> bytes, const ImportOptions& options) {
  if (bytes.size() > options.max_model_bytes)
    return make_error(Code::kLimit, "found a model of {} bytes, expected at most {}", bytes.size(),
                      options.max_model_bytes)
        .with_hint("raise the limit, or save the weights as external data");
  if (bytes.empty()) return make_error(Code::kInvalidModel, "not an ONNX file: found no bytes, expected a ModelProto");
  auto model = std::make_unique<pb::ModelProto>();
  const int depth = options.max_nesting * kMessagesPerNesting + kFlatMessages;
  Status parsed = parse_message(bytes, depth, "not an ONNX file", *model);
  if (!parsed.ok())
    return parsed.take_error().with_hint(
        fmt::format("was the download cut short, is this another format (or a Git LFS pointer), or are bodies nested "
                    "deeper than {}?",
                    options.max_nesting));
  if (!model->has_graph())
    return make_error(Code::kInvalidModel, "not an ONNX file: found a message without a graph, expected a ModelProto");
  return model;
}

}  // namespace tutti::onnx
