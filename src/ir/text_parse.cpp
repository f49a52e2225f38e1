#include <charconv>
#include <map>
#include <random>
#include <set>

#include "ir/content_hash.h"
#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/text.h"
#include "ir/text_scanner.h"
#include "ir/verify.h"

namespace tutti::ir {
namespace {

std::optional<double> to_double(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> to_int(std::string_view text) {
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size()) return value;
  uint64_t big = 0;
  auto [big_end, big_failure] = std::from_chars(text.data(), text.data() + text.size(), big);
  if (big_failure == std::errc() && big_end == text.data() + text.size()) return static_cast<int64_t>(big);
  return std::nullopt;
}

// Reads `{name=value, ...}` one field at a time: the field that has the wanted name reads the scanner on.
class AttrParser final : public FieldVisitor {
 public:
  AttrParser(TextScanner& scanner, std::string_view name) : scanner_(scanner), name_(name) {}
  void field(std::string_view n, int64_t& v) override {
    if (mine(n)) take(to_int(scanner_.scalar()), v, "an integer");
  }
  void field(std::string_view n, float& v) override {
    if (mine(n)) take_float(v);
  }
  void field(std::string_view n, bool& v) override {
    if (!mine(n)) return;
    const std::string_view word = scanner_.word();
    if (word != "true" && word != "false") fail("true or false");
    v = word == "true";
  }
  void field(std::string_view n, std::string& v) override {
    if (mine(n)) take(scanner_.quoted(), v);
  }
  void field(std::string_view n, DType& v) override {
    if (mine(n)) take(parse_dtype(scanner_.word()), v, "an element type");
  }
  void field(std::string_view n, std::optional<int64_t>& v) override {
    if (!mine(n)) return;
    if (scanner_.take_word("none"))
      v.reset();
    else
      take(to_int(scanner_.scalar()), v.emplace(), "an integer or none");
  }
  void field(std::string_view n, std::optional<float>& v) override {
    if (!mine(n)) return;
    if (scanner_.take_word("none"))
      v.reset();
    else
      take_float(v.emplace());
  }
  void field(std::string_view n, std::vector<int64_t>& v) override {
    list(n, v, [&](int64_t& x) { take(to_int(scanner_.scalar()), x, "an integer"); });
  }
  void field(std::string_view n, std::vector<float>& v) override {
    list(n, v, [&](float& x) { take_float(x); });
  }
  void field(std::string_view n, std::vector<std::string>& v) override {
    list(n, v, [&](std::string& x) { take(scanner_.quoted(), x); });
  }
  void choice(std::string_view n, int& v, std::span<const std::string_view> names) override {
    if (!mine(n)) return;
    const std::string_view word = scanner_.scalar();
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == word) return void(v = static_cast<int>(i));
    fail("one of the attribute's choices");
  }

  bool found = false;
  std::optional<Error> error;

 private:
  bool mine(std::string_view n) { return n == name_ && (found = true); }
  void fail(std::string_view expected) {
    if (!error) error = scanner_.error(expected);
  }
  template <class T>
  void take(std::optional<T> read, T& into, std::string_view expected) {
    if (read)
      into = *read;
    else
      fail(expected);
  }
  void take(Result<std::string> read, std::string& into) {
    if (read.ok())
      into = *read;
    else if (!error)
      error = read.take_error();
  }
  void take_float(float& into) {
    const auto read = to_double(scanner_.scalar());
    if (read)
      into = static_cast<float>(*read);
    else
      fail("a number");
  }
  template <class T, class F>
  void list(std::string_view n, std::vector<T>& into, F read) {
    if (!mine(n)) return;
    into.clear();
    if (!scanner_.take("[")) return fail("'['");
    while (!error && scanner_.peek() != ']') {
      read(into.emplace_back());
      if (!scanner_.take(",")) break;
    }
    if (!scanner_.take("]")) fail("']'");
  }
  TextScanner& scanner_;
  std::string_view name_;
};

// Stands in for a constant whose data the text leaves out: the same values for the same hash.
void fill_seeded(Tensor& tensor, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    if (is_floating(tensor.dtype()))
      tensor.set_double(i, unit * 2 - 1);
    else
      tensor.set_int(i, tensor.dtype() == DType::kBool ? unit < 0.5 : static_cast<int64_t>(unit * 4));
  }
}

class Parser {
 public:
  Parser(TextScanner& scanner, const OpLookup& find_op) : scanner_(scanner), find_op_(find_op) {}

  Result<Graph> graph(std::string_view keyword) {
    TUTTI_TRY(scanner_.expect(keyword));
    if (scanner_.peek() == '"') graph_.name = TUTTI_TRY(scanner_.quoted());
    TUTTI_TRY(inputs());
    TUTTI_TRY(scanner_.expect("{"));
    while (!scanner_.take_word("return")) TUTTI_TRY(statement());
    TUTTI_TRY(outputs());
    TUTTI_TRY(scanner_.expect("}"));
    reserve_names();
    return std::move(graph_);
  }

 private:
  Result<ValueType> type() {
    const std::string_view text = TUTTI_TRY(scanner_.bracketed_type());
    Result<ValueType> parsed = ValueType::parse(text);
    if (!parsed.ok())
      return Error(Code::kInvalidInput,
                   fmt::format("{} ({})", scanner_.error("a type").message(), parsed.error().message()));
    if (parsed->shape) {
      std::vector<std::string> symbols;
      for (const Dim& dim : *parsed->shape) dim.collect_symbols(symbols);
      for (const std::string& symbol : symbols) graph_.symbols().emplace(symbol, Range{});
    }
    return parsed;
  }

  Result<std::string> new_name() {
    std::string name = TUTTI_TRY(scanner_.value_name());
    if (values_.contains(name)) return scanner_.error(fmt::format("a new name: '%{}' is taken", name));
    return name;
  }

  Status inputs() {
    TUTTI_TRY(scanner_.expect("("));
    while (scanner_.peek() == '%') {
      const std::string name = TUTTI_TRY(new_name());
      TUTTI_TRY(scanner_.expect(":"));
      ValueType input_type = TUTTI_TRY(type());
      const std::string port = TUTTI_TRY(port_name(name));
      const ValueId id = graph_.add_input(port, std::move(input_type));
      graph_.value(id).name = name;
      values_[name] = id;
      if (!scanner_.take(",")) break;
    }
    return scanner_.expect(")");
  }

  Result<std::string> port_name(const std::string& value_name) {
    if (scanner_.take_word("as")) return scanner_.quoted();
    return value_name;
  }

  Status outputs() {
    while (scanner_.peek() == '%') {
      const std::string name = TUTTI_TRY(scanner_.value_name());
      const ValueId id = TUTTI_TRY(known(name));
      graph_.add_output(TUTTI_TRY(port_name(name)), id);
      if (!scanner_.take(",")) break;
    }
    return ok_status();
  }

  Result<ValueId> known(const std::string& name) {
    const auto at = values_.find(name);
    if (at == values_.end()) return scanner_.error(fmt::format("a value that is defined above, not '%{}'", name));
    return at->second;
  }

  Status statement() {
    if (scanner_.take_word("symbol")) return symbol();
    struct Target {
      std::string name;
      std::optional<ValueType> type;
    };
    std::vector<Target> targets;
    do {
      Target& target = targets.emplace_back();
      if (scanner_.take_word("_")) continue;
      if (scanner_.peek() != '%') return scanner_.error("a statement: '%name: type = ...', 'symbol' or 'return'");
      target.name = TUTTI_TRY(new_name());
      if (scanner_.take(":")) target.type = TUTTI_TRY(type());
    } while (scanner_.take(","));
    TUTTI_TRY(scanner_.expect("="));
    const std::string_view op_name = scanner_.word();
    if (op_name == "dense" || op_name == "splat") {
      if (targets.size() != 1 || !targets[0].type) return scanner_.error("one typed name before a constant");
      return constant(targets[0].name, *targets[0].type, op_name == "splat");
    }
    const OpDef* op = find_op_(op_name);
    if (!op) return scanner_.error(fmt::format("a known operator before this, not '{}'", op_name));
    NodeSpec spec{.op = op};
    for (const Target& target : targets) spec.output_names.push_back(target.name);
    const NodeId id = TUTTI_TRY(node(std::move(spec)));
    TUTTI_TRY(infer_node(graph_, id));
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].name.empty()) continue;
      const ValueId out = graph_.node(id).outputs[i];
      values_[targets[i].name] = out;
      if (targets[i].type) TUTTI_TRY(check_type(out, *targets[i].type));
    }
    return ok_status();
  }

  // The written type holds, if inference does not contradict it.
  Status check_type(ValueId id, const ValueType& written) {
    ValueType& inferred = graph_.value(id).type;
    bool fits = written.kind == inferred.kind && written.dtype == inferred.dtype;
    if (fits && written.shape && inferred.shape) {
      fits = written.shape->size() == inferred.shape->size();
      for (size_t i = 0; fits && i < written.shape->size(); ++i)
        fits = !Dim::never_equal((*written.shape)[i], (*inferred.shape)[i]);
    }
    if (!fits)
      return scanner_.error(fmt::format("before this a value '%{}' of type {}, as inferred, not {}",
                                        graph_.value(id).name, inferred.text(), written.text()));
    inferred = written;
    return ok_status();
  }

  Status symbol() {
    const std::string name(scanner_.word());
    TUTTI_TRY(scanner_.expect(":"));
    const std::string_view text = scanner_.scalar();
    const size_t dots = text.find("..");
    const auto min = dots == std::string_view::npos ? std::nullopt : to_int(text.substr(0, dots));
    if (!min) return scanner_.error("a range like 1..64 before this");
    const auto max = dots + 2 == text.size() ? std::optional<int64_t>(INT64_MAX) : to_int(text.substr(dots + 2));
    if (!max) return scanner_.error("a range like 1..64 before this");
    graph_.symbols().insert_or_assign(name, Range{*min, *max});
    return ok_status();
  }

  Status constant(const std::string& name, const ValueType& type, bool splat) {
    const auto dims = type.static_dims();
    if (!dims) return scanner_.error("a constant of known dims");
    TUTTI_TRY(checked_element_count(*dims));
    Tensor tensor = Tensor::zeros(type.dtype, *dims);
    if (splat) {
      TUTTI_TRY(element(tensor, 0));
      for (int64_t i = 1; i < tensor.size(); ++i)
        if (is_floating(type.dtype))
          tensor.set_double(i, tensor.get_double(0));
        else
          tensor.set_int(i, tensor.get_int(0));
    } else if (scanner_.take("<")) {
      uint64_t seed = 0;
      for (const char c : scanner_.word()) seed = seed * 31 + static_cast<unsigned char>(c);
      TUTTI_TRY(scanner_.expect(">"));
      fill_seeded(tensor, seed);
    } else {
      TUTTI_TRY(scanner_.expect("["));
      for (int64_t i = 0; i < tensor.size(); ++i) {
        if (i) TUTTI_TRY(scanner_.expect(","));
        TUTTI_TRY(element(tensor, i));
      }
      TUTTI_TRY(scanner_.expect("]"));
    }
    values_[name] = graph_.add_constant(name, std::move(tensor));
    return ok_status();
  }

  Status element(Tensor& tensor, int64_t i) {
    if (tensor.dtype() == DType::kString) {
      tensor.mutable_string_data()[static_cast<size_t>(i)] = TUTTI_TRY(scanner_.quoted());
      return ok_status();
    }
    const std::string_view text = scanner_.scalar();
    if (is_floating(tensor.dtype())) {
      const auto value = to_double(text);
      if (!value) return scanner_.error("a number before this");
      tensor.set_double(i, *value);
      return ok_status();
    }
    const auto value = text == "true" ? 1 : text == "false" ? 0 : to_int(text);
    if (!value) return scanner_.error("an integer before this");
    tensor.set_int(i, *value);
    return ok_status();
  }

  Result<NodeId> node(NodeSpec spec) {
    TUTTI_TRY(scanner_.expect("("));
    while (scanner_.peek() != ')') {
      if (scanner_.take_word("none"))
        spec.inputs.push_back(kNoValue);
      else
        spec.inputs.push_back(TUTTI_TRY(known(TUTTI_TRY(scanner_.value_name()))));
      if (!scanner_.take(",")) break;
    }
    TUTTI_TRY(scanner_.expect(")"));
    if (spec.op->make_attrs) spec.attrs = Attrs(spec.op->make_attrs());
    if (scanner_.take("{")) TUTTI_TRY(attributes(spec.attrs));
    if (scanner_.take("@")) spec.name = TUTTI_TRY(scanner_.quoted());
    if (scanner_.take_word("from")) {
      do spec.origins.push_back(TUTTI_TRY(scanner_.quoted()));
      while (scanner_.take(","));
    }
    for (int i = 0; i < spec.op->body_count; ++i) {
      Parser inner(scanner_, find_op_);
      spec.bodies.push_back(std::make_unique<Graph>(TUTTI_TRY(inner.graph("body"))));
    }
    return graph_.add_node(std::move(spec));
  }

  Status attributes(Attrs& attrs) {
    while (scanner_.peek() != '}') {
      const std::string_view name = scanner_.word();
      TUTTI_TRY(scanner_.expect("="));
      AttrParser parser(scanner_, name);
      attrs.visit(parser);
      if (parser.error) return *std::move(parser.error);
      if (!parser.found)
        return scanner_.error(fmt::format("an attribute of this operator before this, not '{}'", name));
      if (!scanner_.take(",")) break;
    }
    return scanner_.expect("}");
  }

  // Names that unique_name() will make later must not be in the text already.
  void reserve_names() {
    int64_t highest = -1;
    for (const auto& [name, id] : values_) {
      const size_t dollar = name.rfind('$');
      if (dollar == std::string::npos) continue;
      const auto number = to_int(std::string_view(name).substr(dollar + 1));
      if (number && *number < 1'000'000) highest = std::max(highest, *number);
    }
    for (int64_t i = 0; i <= highest; ++i) (void)graph_.unique_name("");
  }

  TextScanner& scanner_;
  const OpLookup& find_op_;
  Graph graph_;
  std::map<std::string, ValueId> values_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const OpLookup& find_op) {
  TextScanner scanner(text);
  Graph graph = TUTTI_TRY(Parser(scanner, find_op).graph("graph"));
  if (scanner.peek() != '\0') return scanner.error("nothing after the graph");
  TUTTI_TRY(verify_graph(graph));
  return graph;
}

}  // namespace tutti::ir
