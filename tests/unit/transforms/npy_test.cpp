#include "transforms/npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tutti::transforms {
namespace {

using ir::Tensor;

class Npy : public testing::Test {
 protected:
  std::string path_ =
      testing::TempDir() + "npy_test_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy";
  void TearDown() override { std::filesystem::remove(path_); }
  std::string bytes() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
};

TEST_F(Npy, what_is_written_reads_back) {
  for (const ir::Dims& dims : {ir::Dims{}, ir::Dims{6}, ir::Dims{2, 3}, ir::Dims{0, 4}}) {
    Tensor t = Tensor::allocate(ir::DType::kInt64, dims);
    for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i * 1'000'000'007);
    ASSERT_TRUE(write_npy(path_, t).ok());
    auto back = read_npy(path_);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_TRUE(identical(t, *back));
  }
}

TEST_F(Npy, data_starts_at_a_multiple_of_64) {
  ASSERT_TRUE(write_npy(path_, Tensor::scalar<float>(1.0f)).ok());
  EXPECT_EQ((bytes().size() - 4) % 64, 0u);
}

TEST_F(Npy, fortran_order_becomes_row_major) {
  ASSERT_TRUE(write_npy(path_, Tensor::from<float>({2, 3}, {1, 4, 2, 5, 3, 6})).ok());
  std::string content = bytes();
  content.replace(content.find("False"), 5, "True ");
  write(content);
  auto back = read_npy(path_);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->to_float(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Npy, any_byte_but_zero_is_a_true_bool) {
  ASSERT_TRUE(write_npy(path_, Tensor::from<bool>({3}, {true, false, true})).ok());
  std::string content = bytes();
  content.back() = '\x02';
  write(content);
  auto back = read_npy(path_);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_TRUE(identical(*back, Tensor::from<bool>({3}, {true, false, true})));
}

TEST_F(Npy, every_truncation_is_an_error_that_names_the_file) {
  ASSERT_TRUE(write_npy(path_, Tensor::from<float>({4}, {1, 2, 3, 4})).ok());
  const std::string content = bytes();
  for (size_t size = 0; size < content.size(); ++size) {
    write(content.substr(0, size));
    auto back = read_npy(path_);
    ASSERT_FALSE(back.ok()) << size;
    EXPECT_NE(back.error().text().find(path_), std::string::npos);
  }
}

TEST_F(Npy, absurd_shapes_are_refused_before_memory_is_taken) {
  ASSERT_TRUE(write_npy(path_, Tensor::from<float>({4}, {1, 2, 3, 4})).ok());
  std::string content = bytes();
  content.replace(content.find("(4, )"), 5, "(9999999999999999,)");
  content.erase(content.find("\n") - 14, 14);
  write(content);
  EXPECT_FALSE(read_npy(path_).ok());
}

}  // namespace
}  // namespace tutti::transforms
