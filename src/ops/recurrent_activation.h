// The activation functions of recurrent layers, with their parameters.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/recurrent.h"

namespace tutti::ops {

using Activation = std::function<double(double)>;

// `defaults` names the activations of one direction. Returns those of direction 0, then those of direction 1;
// parameters are consumed in order by the functions that have them.
Result<std::vector<Activation>> recurrent_activations(const RecurrentAttrs& attrs,
                                                      const std::vector<std::string>& defaults);

}  // namespace tutti::ops
