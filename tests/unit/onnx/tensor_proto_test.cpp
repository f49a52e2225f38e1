#include "onnx/tensor_proto.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "model_maker.h"
#include "onnx/tensor_file.h"

namespace tutti::onnx {
namespace {

using ir::DType;
using testing::ElementsAre;
using testing::HasSubstr;

pb::TensorProto tensor_of(int type, std::vector<int64_t> dims) {
  pb::TensorProto out;
  out.set_name("t");
  out.set_data_type(type);
  for (const int64_t dim : dims) out.add_dims(dim);
  return out;
}

TEST(TensorProto, reads_every_type_from_its_typed_field) {
  for (int type = 1; type < ir::kDTypeCount; ++type) {
    pb::TensorProto proto = tensor_of(type, {2});
    const DType dtype = static_cast<DType>(type);
    if (dtype == DType::kString) {
      proto.add_string_data("a");
      proto.add_string_data("b");
    } else if (dtype == DType::kFloat32 || dtype == DType::kComplex64) {
      for (int i = 0; i < (dtype == DType::kComplex64 ? 4 : 2); ++i) proto.add_float_data(1);
    } else if (dtype == DType::kFloat64 || dtype == DType::kComplex128) {
      for (int i = 0; i < (dtype == DType::kComplex128 ? 4 : 2); ++i) proto.add_double_data(1);
    } else if (dtype == DType::kInt64) {
      proto.add_int64_data(-1), proto.add_int64_data(1);
    } else if (dtype == DType::kUInt32 || dtype == DType::kUInt64) {
      proto.add_uint64_data(1), proto.add_uint64_data(2);
    } else {
      for (int i = 0; i < (ir::dtype_bits(dtype) < 8 ? 1 : 2); ++i) proto.add_int32_data(1);
    }
    const auto read = read_tensor(proto, {});
    ASSERT_TRUE(read.ok()) << type << ": " << read.error().text();
    EXPECT_EQ(read->dtype(), dtype);
    EXPECT_EQ(read->size(), 2);
  }
}

TEST(TensorProto, reads_packed_elements_low_bits_first) {
  pb::TensorProto proto = tensor_of(pb::TensorProto::INT4, {3});
  proto.set_raw_data(std::string("\x2f\x07", 2));
  const auto read = read_tensor(proto, {});
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_THAT(read->to_int64(), ElementsAre(-1, 2, 7));
}

TEST(TensorProto, makes_any_nonzero_byte_a_true_bool) {
  pb::TensorProto proto = tensor_of(kBool, {3});
  proto.set_raw_data(std::string("\x00\x02\x01", 3));
  EXPECT_THAT(read_tensor(proto, {})->to_int64(), ElementsAre(0, 1, 1));
}

TEST(TensorProto, takes_over_large_raw_data_without_a_copy) {
  pb::TensorProto proto = tensor_of(kFloat, {64});
  proto.set_raw_data(std::string(256, '\0'));
  const void* before = proto.raw_data().data();
  const auto read = read_tensor(proto, {.take_data = true});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->raw(), before);
}

TEST(TensorProto, refuses_data_of_the_wrong_size_and_names_the_tensor) {
  pb::TensorProto proto = tensor_of(kFloat, {2, 2});
  proto.set_raw_data("1234");
  const auto read = read_tensor(proto, {});
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), HasSubstr("tensor 't': raw_data: found 4 bytes, expected 16"));
}

TEST(TensorProto, refuses_unknown_types_negative_and_huge_dims) {
  pb::TensorProto unknown = tensor_of(99, {1}), negative = tensor_of(kFloat, {-1}),
                  huge = tensor_of(kFloat, {INT64_MAX, INT64_MAX}),
                  empty_but_huge = tensor_of(kFloat, {INT64_MAX, INT64_MAX, 0});
  for (pb::TensorProto* proto : {&unknown, &negative, &huge, &empty_but_huge})
    EXPECT_FALSE(read_tensor(*proto, {}).ok());
}

TEST(TensorProto, reads_scalars_and_empty_tensors) {
  pb::TensorProto scalar = tensor_of(kFloat, {}), empty = tensor_of(kFloat, {0, 4});
  scalar.add_float_data(2.5f);
  EXPECT_EQ(read_tensor(scalar, {})->to_float(), std::vector<float>{2.5f});
  EXPECT_EQ(read_tensor(empty, {})->size(), 0);
}

TEST(TensorProto, makes_sparse_tensors_dense_and_bounds_them) {
  pb::SparseTensorProto sparse;
  sparse.add_dims(2), sparse.add_dims(3);
  *sparse.mutable_values() = tensor_of(kFloat, {2});
  sparse.mutable_values()->add_float_data(1), sparse.mutable_values()->add_float_data(2);
  *sparse.mutable_indices() = tensor_of(kInt64, {2, 2});
  for (const int64_t i : {0, 1, 1, 2}) sparse.mutable_indices()->add_int64_data(i);
  EXPECT_THAT(read_sparse_tensor(sparse, {})->to_float(), ElementsAre(0, 1, 0, 0, 0, 2));
  sparse.mutable_indices()->set_int64_data(3, 3);
  EXPECT_THAT(read_sparse_tensor(sparse, {}).error().text(), HasSubstr("sparse index 3 of axis 1"));
  sparse.set_dims(0, int64_t{1} << 40);
  EXPECT_EQ(read_sparse_tensor(sparse, {}).error().code(), Code::kLimit);
}

TEST(TensorFile, writes_what_it_reads_back) {
  const std::string path = testing::TempDir() + "tutti_tensor.pb";
  const auto tensor = ir::Tensor::from<int64_t>({3}, {1, -2, 3});
  ASSERT_TRUE(write_tensor_proto_file(path, tensor, "x").ok());
  const auto read = read_tensor_proto_file(path);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_TRUE(ir::identical(read->tensor(), tensor));
  std::filesystem::remove(path);
}

TEST(TensorFile, reads_sequences_and_optionals) {
  const std::string path = testing::TempDir() + "tutti_sequence.pb";
  pb::TensorProto proto = tensor_of(kFloat, {1});
  proto.add_float_data(4);
  const std::string inner = proto.SerializeAsString();
  std::string bytes("\x10\x01", 2);  // elem_type: tensor
  for (int i = 0; i < 2; ++i) bytes += std::string("\x1a") + static_cast<char>(inner.size()) + inner;
  std::ofstream(path, std::ios::binary) << bytes;
  const auto sequence = read_tensor_proto_file(path, ProtoKind::kSequence);
  ASSERT_TRUE(sequence.ok()) << sequence.error().text();
  EXPECT_EQ(sequence->sequence().size(), 2u);
  const auto optional = read_tensor_proto_file(path, ProtoKind::kOptional);
  ASSERT_TRUE(optional.ok() && optional->is_tensor());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << std::string("\x10\x00", 2);
  EXPECT_TRUE(read_tensor_proto_file(path, ProtoKind::kOptional)->empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tutti::onnx
