#include "onnx/external_data.h"

#include <charconv>
#include <filesystem>

namespace tutti::onnx {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<uint64_t> parse_number(const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  return make_error(Code::kInvalidModel, "external data: found {} '{}', expected a number of bytes", key, text);
}

Result<Place> read_place(const pb::TensorProto& tensor) {
  Place out;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") out.location = entry.value();
    if (entry.key() == "offset") out.offset = TUTTI_TRY(parse_number("offset", entry.value()));
    if (entry.key() == "length") out.length = TUTTI_TRY(parse_number("length", entry.value()));
  }
  if (out.location.empty())
    return make_error(Code::kInvalidModel, "external data: found no location, expected a file name");
  return out;
}

Error leaves_folder(const std::string& location) {
  return make_error(Code::kInvalidModel,
                    "external data '{}': found a path that leaves the model's folder, expected a file in it", location)
      .with_hint("put the weights beside the model (a copy, not a link to elsewhere)");
}

// Lexically inside: relative, no ".." step, no NUL.
bool stays_inside(const std::string& location) {
  const fs::path path(location);
  if (path.is_absolute() || location.find('\0') != std::string::npos || location.find('\\') != std::string::npos)
    return false;
  for (const fs::path& part : path)
    if (part == "..") return false;
  return true;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalData::open(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  if (base_dir_.empty())
    return make_error(Code::kInvalidModel, "external data '{}': found a model in memory, expected one in a folder",
                      location)
        .with_hint("import the model by its path");
  if (!stays_inside(location)) return leaves_folder(location);
  std::error_code failed;
  const fs::path folder = fs::canonical(base_dir_, failed);
  if (failed) return make_error(Code::kNotFound, "model folder '{}': {}", base_dir_, failed.message());
  const fs::path real = fs::canonical(folder / location, failed);
  if (failed)
    return make_error(Code::kNotFound, "external data '{}': found no such file in '{}' ({})", location, base_dir_,
                      failed.message())
        .with_hint("copy the weight files together with the model");
  const fs::path relative = real.lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") return leaves_folder(location);
  auto file = std::make_shared<const MappedFile>(
      TUTTI_TRY(MappedFile::open(real.string()).with_context(fmt::format("external data '{}'", location))));
  files_.emplace(location, file);
  return file;
}

Result<ExternalBytes> ExternalData::find(const pb::TensorProto& tensor, uint64_t expected_bytes) {
  const Place place = TUTTI_TRY(read_place(tensor));
  if (place.length && *place.length != expected_bytes)
    return make_error(Code::kInvalidModel,
                      "external data '{}': found a length of {} bytes, expected {} (from type and dims)",
                      place.location, *place.length, expected_bytes);
  auto file = TUTTI_TRY(open(place.location));
  const uint64_t size = file->size_bytes();
  if (place.offset > size || expected_bytes > size - place.offset)
    return make_error(Code::kInvalidModel,
                      "external data '{}': found a file of {} bytes, expected at least {} (offset {} + {} bytes)",
                      place.location, size, place.offset + expected_bytes, place.offset, expected_bytes)
        .with_hint("the weight file is cut short or belongs to another model");
  return ExternalBytes{file->bytes().subspan(static_cast<size_t>(place.offset), static_cast<size_t>(expected_bytes)),
                       file};
}

}  // namespace tutti::onnx
