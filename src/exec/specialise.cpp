#include "exec/specialise.h"

#include "exec/program_builder.h"
#include "exec/resolve.h"

namespace tutti::exec {

Result<ProgramPtr> specialise(const StageRequest& request, const Environment& environment) {
  const Resolved stage = TUTTI_TRY(resolve_stage(request.graph, request.nodes, request.known));
  ProgramBuilder builder(stage, request, environment);
  return ProgramPtr(TUTTI_TRY(builder.build()));
}

}  // namespace tutti::exec
