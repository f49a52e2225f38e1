#include "onnx/external_data.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "model_maker.h"

namespace tutti::onnx {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("tutti_external_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "model");
    write("model/w.bin", 256);
    write("outside.bin", 256);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, size_t size) {
    std::ofstream(root_ / name, std::ios::binary) << std::string(size, '\1');
  }

  pb::TensorProto& add(const std::string& name, const std::string& location, const std::string& offset,
                       const std::string& length) {
    pb::TensorProto& tensor = maker_.graph.initializer(name, kFloat, {8});
    tensor.set_data_location(pb::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    maker_.graph.output(name);
    return tensor;
  }
  Result<ir::Graph> import() { return maker_.import(nullptr, {}, (root_ / "model").string()); }
  std::string error_for(const std::string& location, const std::string& offset = {}, const std::string& length = {}) {
    add("w", location, offset, length);
    const auto graph = import();
    return graph.ok() ? "no error" : graph.error().text();
  }

  fs::path root_;
  ModelMaker maker_{17};
};

TEST_F(ExternalDataTest, maps_the_bytes_that_offset_and_length_name) {
  add("a", "w.bin", "32", "32");
  add("b", "w.bin", "", "");
  const auto graph = import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const ir::Tensor& a = graph->value(graph->outputs()[0].value).constant;
  const ir::Tensor& b = graph->value(graph->outputs()[1].value).constant;
  EXPECT_TRUE(a.file_backed());
  EXPECT_EQ(static_cast<const char*>(a.raw()) - static_cast<const char*>(b.raw()), 32) << "one mapping for both";
}

TEST_F(ExternalDataTest, copies_data_that_is_not_aligned) {
  add("a", "w.bin", "33", "32");
  const auto graph = import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_FALSE(graph->value(graph->outputs()[0].value).constant.file_backed());
}

TEST_F(ExternalDataTest, refuses_parent_folders) {
  EXPECT_THAT(error_for("../outside.bin"), HasSubstr("leaves the model's folder"));
}
TEST_F(ExternalDataTest, refuses_absolute_paths) {
  EXPECT_THAT(error_for((root_ / "outside.bin").string()), HasSubstr("leaves the model's folder"));
}

TEST_F(ExternalDataTest, refuses_links_that_lead_out_but_not_those_that_stay) {
  fs::create_symlink(root_ / "outside.bin", root_ / "model/out");
  fs::create_symlink("w.bin", root_ / "model/in");
  add("ok", "in", "", "");
  EXPECT_TRUE(import().ok());
  EXPECT_THAT(error_for("out"), HasSubstr("leaves the model's folder"));
}

TEST_F(ExternalDataTest, names_tensor_and_file_when_the_file_is_missing) {
  const std::string text = error_for("none.bin");
  EXPECT_THAT(text, HasSubstr("tensor 'w'"));
  EXPECT_THAT(text, HasSubstr("none.bin"));
}

TEST_F(ExternalDataTest, says_found_and_expected_when_the_file_is_short) {
  EXPECT_THAT(error_for("w.bin", "240", "32"), HasSubstr("found a file of 256 bytes, expected at least 272"));
}

TEST_F(ExternalDataTest, refuses_a_length_that_does_not_fit_the_type) {
  EXPECT_THAT(error_for("w.bin", "0", "31"), HasSubstr("found a length of 31 bytes, expected 32"));
}
TEST_F(ExternalDataTest, refuses_numbers_that_are_none) {
  EXPECT_THAT(error_for("w.bin", "-4"), HasSubstr("found offset '-4'"));
}
TEST_F(ExternalDataTest, refuses_offsets_that_overflow) {
  EXPECT_THAT(error_for("w.bin", "18446744073709551615"), HasSubstr("found a file of 256 bytes"));
}

TEST_F(ExternalDataTest, needs_a_folder) {
  add("w", "w.bin", "", "");
  EXPECT_THAT(maker_.import().error().text(), HasSubstr("found a model in memory"));
}

}  // namespace
}  // namespace tutti::onnx
