#include "base/log.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

class Log : public ::testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::kWarning); }
};

TEST_F(Log, writes_to_standard_error_from_the_level_on) {
  ::testing::internal::CaptureStderr();
  TUTTI_LOG(kWarning, "node {}: {}", "conv1", "slow {path}");
  TUTTI_LOG(kInfo, "hidden");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("warning node conv1: slow {path}\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
}

TEST_F(Log, evaluates_arguments_only_when_written) {
  set_log_level(LogLevel::kOff);
  int evaluated = 0;
  TUTTI_LOG(kError, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace tutti
