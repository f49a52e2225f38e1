// The activation functions of recurrent layers, with their parameters.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/recurrent.h"

namespace tutti::ops {

using GateFunction = std::function<double(double)>;

// One activation by its name in lower case, with the parameters that it has (0 for those it has not).
struct ActivationForm {
  std::string name;
  double alpha = 0, beta = 0;
};
// `defaults` names the activations of one direction. Returns those of direction 0, then those of direction 1;
// parameters are consumed in order by the functions that have them.
Result<std::vector<ActivationForm>> activation_forms(const RecurrentAttrs& attrs,
                                                     const std::vector<std::string>& defaults);

// The same as functions.
Result<std::vector<GateFunction>> recurrent_activations(const RecurrentAttrs& attrs,
                                                        const std::vector<std::string>& defaults);

}  // namespace tutti::ops
