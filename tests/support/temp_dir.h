// TempDir: a folder of a test's own, removed afterwards.
#pragma once

#include <string>
#include <string_view>

namespace tutti::testing {

// One thread at a time.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // PATH/name.
  std::string file(std::string_view name) const;
  // Writes PATH/name, making the folders above it, and returns its path.
  std::string write(std::string_view name, std::string_view content) const;
  // The names in the folder, sorted.
  std::string listing() const;

 private:
  std::string path_;
};

// The whole file; empty if it cannot be read.
std::string read_text(const std::string& path);

}  // namespace tutti::testing
