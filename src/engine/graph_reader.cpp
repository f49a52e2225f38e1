#include "engine/graph_reader.h"

#include <algorithm>

#include "engine/attributes.h"
#include "engine/weights_writer.h"
#include "ops/op_list.h"

namespace tutti::engine {
namespace {

template <class... Args>
Error corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::kCorrupt, fmt::format(format, std::forward<Args>(args)...),
               "build the engine again from its model");
}

std::string text_of(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

template <class Vector>
size_t size_of(const Vector* vector) {
  return vector ? vector->size() : 0;
}

Result<ir::DType> read_dtype(uint8_t number) {
  if (number == 0 || number >= ir::kDTypeCount)
    return corrupt("element type: found {}, expected 1 to {}", number, ir::kDTypeCount - 1);
  return static_cast<ir::DType>(number);
}

// Kernels load bools as such, and a byte other than 0 or 1 is none.
Status check_bools(ir::DType dtype, std::span<const std::byte> bytes) {
  if (dtype != ir::DType::kBool ||
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; }))
    return {};
  return corrupt("found a bool that is neither 0 nor 1");
}

class GraphReader {
 public:
  GraphReader(const fb::Graph& stored, const WeightsView& weights) : stored_(stored), weights_(weights) {}

  Result<ir::Graph> run() && {
    graph_.name = text_of(stored_.name());
    TUTTI_TRY(read_symbols());
    for (size_t i = 0; i < size_of(stored_.inputs()); ++i)
      TUTTI_TRY(read_input(*stored_.inputs()->Get(static_cast<uint32_t>(i))));
    for (size_t i = 0; i < size_of(stored_.constants()); ++i) {
      const fb::Constant& constant = *stored_.constants()->Get(static_cast<uint32_t>(i));
      ir::Tensor tensor =
          TUTTI_TRY(read_constant(constant).with_context(fmt::format("constant '{}'", constant.name()->str())));
      ids_.push_back(graph_.add_constant(constant.name()->str(), std::move(tensor)));
    }
    for (size_t i = 0; i < size_of(stored_.nodes()); ++i) {
      const fb::Node& node = *stored_.nodes()->Get(static_cast<uint32_t>(i));
      TUTTI_TRY(read_node(node).with_context(fmt::format("node '{}' ({})", text_of(node.name()), node.op()->str())));
    }
    for (size_t i = 0; i < size_of(stored_.outputs()); ++i) {
      const fb::Output& output = *stored_.outputs()->Get(static_cast<uint32_t>(i));
      graph_.add_output(output.name()->str(), TUTTI_TRY(value_of(output.value())));
    }
    for (size_t i = 0; i < size_of(stored_.metadata()); ++i) {
      const fb::Entry& entry = *stored_.metadata()->Get(static_cast<uint32_t>(i));
      graph_.metadata()[entry.key()->str()] = entry.value()->str();
    }
    return std::move(graph_);
  }

 private:
  Result<ir::ValueId> value_of(int32_t number) const {
    if (number < 0 || static_cast<size_t>(number) >= ids_.size())
      return corrupt("value: found number {}, expected one of the {} before it", number, ids_.size());
    return ids_[static_cast<size_t>(number)];
  }

  Status read_symbols() {
    for (size_t i = 0; i < size_of(stored_.symbols()); ++i) {
      const fb::SymbolRange& symbol = *stored_.symbols()->Get(static_cast<uint32_t>(i));
      if (symbol.min() > symbol.max())
        return corrupt("symbol '{}': found the range {} to {}", symbol.name()->str(), symbol.min(), symbol.max());
      graph_.symbols()[symbol.name()->str()] = {symbol.min(), symbol.max()};
    }
    return {};
  }

  Status read_input(const fb::Input& input) {
    const fb::Type& stored = *input.type();
    ir::ValueType type;
    type.kind = stored.sequence() ? ir::ValueType::Kind::kSequence : ir::ValueType::Kind::kTensor;
    type.is_optional = stored.optional();
    // A body's input that is never given has no type.
    if (stored.dtype() != 0)
      type.dtype = TUTTI_TRY(read_dtype(stored.dtype()).with_context(fmt::format("input '{}'", input.name()->str())));
    if (stored.ranked()) {
      type.shape.emplace();
      for (size_t i = 0; i < size_of(stored.dims()); ++i) {
        const std::string text = stored.dims()->Get(static_cast<uint32_t>(i))->str();
        auto dim = ir::Dim::parse(text);
        if (!dim.ok() || (dim->constant() && *dim->constant() < 0))
          return corrupt("input '{}': found the dimension '{}'", input.name()->str(), text);
        type.shape->push_back(std::move(dim).value());
      }
    }
    ids_.push_back(graph_.add_input(input.name()->str(), std::move(type)));
    return {};
  }

  Result<ir::Tensor> read_constant(const fb::Constant& constant) const {
    const ir::DType dtype = TUTTI_TRY(read_dtype(constant.dtype()));
    ir::Dims dims;
    if (constant.dims()) dims.assign(constant.dims()->begin(), constant.dims()->end());
    for (const int64_t dim : dims)
      if (dim < 0) return corrupt("found dims {}, expected none below 0", ir::dims_text(dims));
    const auto counted = ir::checked_element_count(dims);
    if (!counted.ok() || *counted > (int64_t{1} << 48))
      return corrupt("found dims {}, which are too large", ir::dims_text(dims));
    const int64_t count = *counted;
    if (dtype == ir::DType::kString) return read_strings(constant, std::move(dims), count);
    const uint64_t bytes = (static_cast<uint64_t>(count) * static_cast<uint64_t>(ir::dtype_bits(dtype)) + 7) / 8;
    if (constant.in_weights()) return read_weights(constant, dtype, std::move(dims), bytes);
    if (size_of(constant.data()) != bytes)
      return corrupt("found {} bytes, expected {}", size_of(constant.data()), bytes);
    if (bytes > 0) TUTTI_TRY(check_bools(dtype, std::as_bytes(std::span(constant.data()->data(), bytes))));
    ir::Tensor out = ir::Tensor::allocate(dtype, std::move(dims));
    if (bytes > 0) std::memcpy(out.mutable_raw(), constant.data()->data(), bytes);
    return out;
  }

  Result<ir::Tensor> read_strings(const fb::Constant& constant, ir::Dims dims, int64_t count) const {
    if (static_cast<int64_t>(size_of(constant.strings())) != count)
      return corrupt("found {} strings, expected {}", size_of(constant.strings()), count);
    std::vector<std::string> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(constant.strings()->Get(static_cast<uint32_t>(i))->str());
    return ir::Tensor::strings(std::move(dims), std::move(values));
  }

  Result<ir::Tensor> read_weights(const fb::Constant& constant, ir::DType dtype, ir::Dims dims, uint64_t bytes) const {
    const uint64_t offset = constant.offset(), available = weights_.bytes.size();
    if (constant.size_bytes() != bytes || offset > available || bytes > available - offset ||
        offset % kTensorAlignment != 0)
      return corrupt("found {} bytes at {} of the weights, expected {} aligned bytes inside {}", constant.size_bytes(),
                     offset, bytes, available);
    TUTTI_TRY(check_bools(dtype, weights_.bytes.subspan(offset, bytes)));
    return ir::Tensor::mapped_view(dtype, std::move(dims), weights_.bytes.data() + offset, weights_.file);
  }

  Status read_node(const fb::Node& stored) {
    ir::NodeSpec spec;
    spec.op = ops::find_op(stored.op()->string_view());
    if (!spec.op)
      return Error(
          Code::kVersion,
          fmt::format("found the operator '{}', which this version of Tutti does not have", stored.op()->str()),
          "build the engine again from its model");
    spec.attrs = TUTTI_TRY(read_attributes(*spec.op, stored.attributes()));
    spec.name = text_of(stored.name());
    for (size_t i = 0; i < size_of(stored.inputs()); ++i) {
      const int32_t number = stored.inputs()->Get(static_cast<uint32_t>(i));
      spec.inputs.push_back(number == -1 ? ir::kNoValue : TUTTI_TRY(value_of(number)));
    }
    for (size_t i = 0; i < size_of(stored.outputs()); ++i)
      spec.output_names.push_back(stored.outputs()->Get(static_cast<uint32_t>(i))->str());
    for (size_t i = 0; i < size_of(stored.origins()); ++i)
      spec.origins.push_back(stored.origins()->Get(static_cast<uint32_t>(i))->str());
    if (size_of(stored.bodies()) != static_cast<size_t>(spec.op->body_count))
      return corrupt("found {} bodies, expected {}", size_of(stored.bodies()), spec.op->body_count);
    for (size_t i = 0; i < size_of(stored.bodies()); ++i)
      spec.bodies.push_back(
          std::make_unique<ir::Graph>(TUTTI_TRY(GraphReader(*stored.bodies()->Get(static_cast<uint32_t>(i)), weights_)
                                                    .run()
                                                    .with_context(fmt::format("body {}", i)))));
    const ir::NodeId id = graph_.add_node(std::move(spec));
    for (const ir::ValueId out : graph_.node(id).outputs)
      if (out != ir::kNoValue) ids_.push_back(out);
    return {};
  }

  const fb::Graph& stored_;
  const WeightsView& weights_;
  ir::Graph graph_;
  std::vector<ir::ValueId> ids_;  // by number in the file
};

}  // namespace

Result<ir::Graph> read_graph(const fb::Graph& stored, const WeightsView& weights) {
  return GraphReader(stored, weights).run();
}

}  // namespace tutti::engine
