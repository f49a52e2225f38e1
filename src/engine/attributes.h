// Attributes as engine files hold them. Internal to save and load.
#pragma once

#include <vector>

#include "engine/engine_generated.h"
#include "ir/op_def.h"

namespace tutti::engine {

// Values are part of the format.
enum class AttributeKind : uint8_t {
  kInt = 0,
  kFloat = 1,
  kBool = 2,
  kString = 3,
  kDType = 4,
  kOptionalInt = 5,
  kOptionalFloat = 6,
  kInts = 7,
  kFloats = 8,
  kStrings = 9,
  kChoice = 10,
};

std::vector<flatbuffers::Offset<fb::Attribute>> write_attributes(flatbuffers::FlatBufferBuilder& builder,
                                                                 const ir::Attrs& attrs);

// The op's default attributes with those of the file; an attribute that the op does not have, or of another kind, is an
// error.
Result<ir::Attrs> read_attributes(const ir::OpDef& op,
                                  const flatbuffers::Vector<flatbuffers::Offset<fb::Attribute>>* stored);

}  // namespace tutti::engine
