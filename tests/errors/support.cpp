#include "errors/support.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tutti::errors {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string quoted(const std::string& argument) {
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string level_of(const std::string& report) {
  for (const std::string level : {"fast", "full", "off"})
    if (report.find("verification: " + level) != std::string::npos ||
        report.find("\"level\": \"" + level + "\"") != std::string::npos)
      return level;
  return "unknown";
}

void note_build(const std::string& report, const std::string& reason) {
  const std::string level = level_of(report);
  EXPECT_TRUE(level == "fast" || level == "full" || !reason.empty())
      << "a build with verification '" << level << "' gave no reason: " << report;
  if (const char* log = std::getenv("TUTTI_BUILDS_LOG"))
    std::ofstream(log, std::ios::app) << level << '\t' << reason << '\n';
}

}  // namespace

Answer tutti(const std::vector<std::string>& arguments, const std::string& unverified_because) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tutti_answer_{}", getpid());
  std::filesystem::create_directories(folder);
  std::string command = quoted(TUTTI_PROGRAM);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  command += fmt::format(" >{0}/out 2>{0}/err </dev/null", quoted(folder.string()));
  const int status = std::system(command.c_str());
  Answer answer{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(folder / "out"),
                read_file(folder / "err")};
  std::filesystem::remove_all(folder);
  if (arguments.front() == "build" && answer.exit_code == 0) note_build(answer.out, unverified_because);
  return answer;
}

UserMistake::UserMistake() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  folder_ = std::filesystem::temp_directory_path() / fmt::format("tutti_errors_{}_{}", getpid(), test->name());
  std::filesystem::create_directories(folder_);
}

UserMistake::~UserMistake() { std::filesystem::remove_all(folder_); }

std::string UserMistake::write(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

std::string UserMistake::relu_model() const {
  auto model = model_with_input();
  add_node(model, "Relu", {"x"}, "y");
  add_output(model, "y");
  return write("relu.onnx", model);
}

std::string UserMistake::relu_engine() const {
  const Answer built = tutti({"build", relu_model(), "-o", path("relu.tutti")});
  EXPECT_EQ(built.exit_code, 0) << built.err;
  return path("relu.tutti");
}

std::string UserMistake::zeros(const std::string& name, const std::vector<int64_t>& dims, const std::string& descr,
                               int element_bytes) const {
  std::string shape;
  int64_t count = 1;
  for (const int64_t d : dims) {
    shape += fmt::format("{}, ", d);
    count *= d;
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  header.append(118 - 1 - header.size(), ' ');
  header += '\n';
  return write(name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
                         std::string(static_cast<size_t>(count * element_bytes), '\0'));
}

::onnx::ModelProto model_with_input() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* input = model.mutable_graph()->add_input();
  model.mutable_graph()->set_name("g");
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("n");
  type->mutable_shape()->add_dim()->set_dim_value(4);
  return model;
}

::onnx::NodeProto& add_node(::onnx::ModelProto& model, const std::string& op, const std::vector<std::string>& inputs,
                            const std::string& output) {
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->set_name("node_" + output);
  for (const std::string& in : inputs) node->add_input(in);
  node->add_output(output);
  return *node;
}

void add_output(::onnx::ModelProto& model, const std::string& name) {
  auto* output = model.mutable_graph()->add_output();
  output->set_name(name);
  output->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
}

::onnx::TensorProto& add_float_initializer(::onnx::ModelProto& model, const std::string& name,
                                           const std::vector<int64_t>& dims) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  double count = 1;  // which int64 need not hold
  for (const int64_t d : dims) {
    tensor->add_dims(d);
    count *= static_cast<double>(d);
  }
  if (count < 1000) tensor->set_raw_data(std::string(static_cast<size_t>(std::max(count, 0.0)) * 4, '\0'));
  return *tensor;
}

void expect_error(const Answer& answer, int exit_code, const std::vector<std::string>& parts) {
  EXPECT_EQ(answer.exit_code, exit_code) << answer.out << answer.err;
  EXPECT_TRUE(answer.err.starts_with("error: ") || answer.err.find("\nerror: ") != std::string::npos) << answer.err;
  for (const std::string& part : parts)
    EXPECT_NE(answer.err.find(part), std::string::npos) << "wanted: " << part << "\nfound: " << answer.err;
}

}  // namespace tutti::errors
