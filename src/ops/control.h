// Control flow. Bodies are closed graphs: values they need from outside ("captures") are explicit inputs of node and
// body.
//   If           inputs [cond, captures...]                  bodies [then, else], both with inputs [captures...]
//   Loop         inputs [M?, cond?, carried..., captures...]  body inputs [iteration, cond, carried..., captures...]
//                                                             body outputs [cond, carried..., scans...]
//   Scan         inputs [states..., scan inputs..., captures...]  body inputs [states..., slices..., captures...]
//                                                             body outputs [states..., scan slices...]
//   SequenceMap  inputs [sequence, additional..., captures...]    body inputs [element, additional elements...,
//   captures...]
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct LoopAttrs : ir::AttrsOf<LoopAttrs> {
  int64_t carried = 0;  // how many values go from one iteration to the next
  void fields(ir::FieldVisitor& v) { v.field("carried", carried); }
};

struct ScanAttrs : ir::AttrsOf<ScanAttrs> {
  int64_t states = 0;
  int64_t num_scan_inputs = 0;
  std::vector<int64_t> scan_input_axes, scan_input_directions, scan_output_axes,
      scan_output_directions;  // empty: all 0
  void fields(ir::FieldVisitor& v) {
    v.field("states", states);
    v.field("num_scan_inputs", num_scan_inputs);
    v.field("scan_input_axes", scan_input_axes);
    v.field("scan_input_directions", scan_input_directions);
    v.field("scan_output_axes", scan_output_axes);
    v.field("scan_output_directions", scan_output_directions);
  }
};

struct SequenceMapAttrs : ir::AttrsOf<SequenceMapAttrs> {
  int64_t additional =
      0;  // inputs after the sequence that are not captures: sequences are walked along, tensors passed whole
  void fields(ir::FieldVisitor& v) { v.field("additional", additional); }
};

extern const ir::OpDef kIf, kLoop, kScan, kSequenceMap;

}  // namespace tutti::ops
