#include <algorithm>
#include <map>

#include "ops/infer_common.h"
#include "ops/text.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

using Word = int32_t;  // number of a distinct word of the pool; -1 for any other
using Gram = std::vector<Word>;

Result<int64_t> output_width(const TfIdfVectorizerAttrs& attrs) {
  int64_t width = 0;
  for (int64_t index : attrs.ngram_indexes) {
    if (index < 0 || index >= int64_t{1} << 31)
      return make_error(Code::kInvalidModel, "ngram_indexes holds {}, expected a column number", index);
    width = std::max(width, index + 1);
  }
  if (width == 0) return Error(Code::kInvalidModel, "ngram_indexes is empty");
  if (!attrs.weights.empty() && attrs.weights.size() != attrs.ngram_indexes.size())
    return make_error(Code::kInvalidModel, "there are {} weights for {} n-grams", attrs.weights.size(),
                      attrs.ngram_indexes.size());
  if (attrs.min_gram_length < 1 || attrs.max_gram_length < attrs.min_gram_length || attrs.max_skip_count < 0)
    return make_error(Code::kInvalidModel, "n-grams of {} to {} words with {} skips make no sense",
                      attrs.min_gram_length, attrs.max_gram_length, attrs.max_skip_count);
  return width;
}

Status infer_tfidf(InferContext& context) {
  const Dim width(TUTTI_TRY(output_width(context.attrs<TfIdfVectorizerAttrs>())));
  const auto& shape = context.shape(0);
  if (!shape)
    context.set_output_unranked(0, DType::kFloat32);
  else if (shape->size() > 2)
    return make_error(Code::kInvalidModel, "the input is {}, expected [C] or [B,C]", context.input(0).text());
  else if (shape->size() == 2)
    context.set_output(0, DType::kFloat32, {(*shape)[0], width});
  else
    context.set_output(0, DType::kFloat32, {width});
  return ok_status();
}

// The n-grams of the pool and the columns they count in.
class Vocabulary {
 public:
  static Result<Vocabulary> build(const TfIdfVectorizerAttrs& attrs) {
    Vocabulary out;
    const size_t total = attrs.pool_strings.empty() ? attrs.pool_int64s.size() : attrs.pool_strings.size();
    size_t gram = 0;
    for (size_t n = 1; n <= attrs.ngram_counts.size(); ++n) {
      const int64_t begin = attrs.ngram_counts[n - 1],
                    end = n < attrs.ngram_counts.size() ? attrs.ngram_counts[n] : static_cast<int64_t>(total);
      if (begin < 0 || end < begin || end > static_cast<int64_t>(total) || (end - begin) % static_cast<int64_t>(n) != 0)
        return make_error(Code::kInvalidModel, "ngram_counts says that {}-grams are at [{},{}) of a pool of {}", n,
                          begin, end, total);
      for (auto at = static_cast<size_t>(begin); at < static_cast<size_t>(end); at += n, ++gram) {
        Gram words;
        for (size_t k = at; k < at + n; ++k)
          words.push_back(attrs.pool_strings.empty() ? out.number(attrs.pool_int64s[k])
                                                     : out.number(attrs.pool_strings[k]));
        if (gram >= attrs.ngram_indexes.size())
          return make_error(Code::kInvalidModel, "there are more n-grams than the {} ngram_indexes",
                            attrs.ngram_indexes.size());
        out.grams_.emplace(std::move(words), gram);
      }
    }
    return out;
  }
  Word find(int64_t value) const { return found(integers_, value); }
  Word find(const std::string& value) const { return found(strings_, value); }
  // The n-gram's number, which is its place in ngram_indexes and weights.
  const size_t* find(const Gram& gram) const {
    const auto at = grams_.find(gram);
    return at == grams_.end() ? nullptr : &at->second;
  }
  size_t longest() const {
    size_t length = 0;
    for (const auto& [gram, number] : grams_) length = std::max(length, gram.size());
    return length;
  }

 private:
  template <class Map, class Key>
  static Word found(const Map& map, const Key& key) {
    const auto at = map.find(key);
    return at == map.end() ? -1 : at->second;
  }
  Word number(int64_t value) { return integers_.emplace(value, static_cast<Word>(integers_.size())).first->second; }
  Word number(const std::string& value) {
    return strings_.emplace(value, static_cast<Word>(strings_.size())).first->second;
  }
  std::map<int64_t, Word> integers_;
  std::map<std::string, Word> strings_;
  std::map<Gram, size_t> grams_;
};

// How often each n-gram occurs in a row. Skips stand between all words of an n-gram alike; single words are counted
// once.
std::vector<int64_t> count_grams(const TfIdfVectorizerAttrs& attrs, const Vocabulary& vocabulary,
                                 std::span<const Word> row) {
  std::vector<int64_t> counts(attrs.ngram_indexes.size(), 0);
  const int64_t longest = std::min<int64_t>(attrs.max_gram_length, static_cast<int64_t>(vocabulary.longest()));
  const auto length = static_cast<int64_t>(row.size());
  for (int64_t step = 1; step <= std::min(attrs.max_skip_count + 1, length); ++step)
    for (int64_t start = 0; start < length; ++start) {
      Gram gram;
      for (int64_t at = start; at < length && static_cast<int64_t>(gram.size()) < longest; at += step) {
        if (row[static_cast<size_t>(at)] < 0) break;
        gram.push_back(row[static_cast<size_t>(at)]);
        const auto size = static_cast<int64_t>(gram.size());
        if (size < attrs.min_gram_length || (size == 1 && step > 1)) continue;
        if (const size_t* number = vocabulary.find(gram)) ++counts[*number];
      }
    }
  return counts;
}

Status eval_tfidf(EvalContext& context) {
  const auto& attrs = context.attrs<TfIdfVectorizerAttrs>();
  const int64_t width = TUTTI_TRY(output_width(attrs));
  const Vocabulary vocabulary = TUTTI_TRY(Vocabulary::build(attrs));
  const Tensor& x = context.input(0);
  if (x.rank() > 2) return make_error(Code::kInvalidInput, "the input is {}, expected [C] or [B,C]", x.type_text());
  const int64_t rows = x.rank() == 2 ? x.dim(0) : 1, columns = rows == 0 ? 0 : x.size() / rows;
  (void)TUTTI_TRY(ir::checked_element_count({rows, width}));
  Tensor out = Tensor::zeros(DType::kFloat32, x.rank() == 2 ? Dims{rows, width} : Dims{width});
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<Word> row;
    for (int64_t i = r * columns; i < (r + 1) * columns; ++i)
      row.push_back(x.dtype() == DType::kString ? vocabulary.find(x.string_data()[static_cast<size_t>(i)])
                                                : vocabulary.find(x.get_int(i)));
    const auto counts = count_grams(attrs, vocabulary, row);
    for (size_t gram = 0; gram < counts.size(); ++gram) {
      float value = static_cast<float>(counts[gram]);
      if (attrs.mode == TfIdfMode::kIdf) value = std::min(value, 1.0f);
      if (attrs.mode != TfIdfMode::kTf && !attrs.weights.empty()) value *= attrs.weights[gram];
      out.mutable_data<float>()[static_cast<size_t>(r * width + attrs.ngram_indexes[gram])] += value;
    }
  }
  context.set_output(0, std::move(out));
  return ok_status();
}

}  // namespace

const ir::OpDef kTfIdfVectorizer{.name = "TfIdfVectorizer",
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .make_attrs = ir::make_attrs<TfIdfVectorizerAttrs>,
                                 .infer = infer_tfidf,
                                 .eval = eval_tfidf,
                                 .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
