/* Runs an engine once on made-up numbers and prints what comes out: run_engine MODEL.tutti */
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

#define MAX_RANK 64

static int failed(tutti_error* error) {
  fprintf(stderr, "error (%s): %s\n", tutti_code_name(tutti_error_code(error)), tutti_error_text(error));
  if (*tutti_error_hint(error)) fprintf(stderr, "hint: %s\n", tutti_error_hint(error));
  tutti_error_destroy(error);
  return 1;
}

/* Numbers between 0 and 1, the same at every start. */
static void* random_floats(size_t count) {
  float* values = malloc((count + 1) * sizeof *values);
  uint32_t state = 1;
  for (size_t i = 0; values && i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(state >> 8) / 16777216.0f;
  }
  return values;
}

/* Gives input `index` random floats, or zeros of another type; open dimensions become 1. Returns the memory, which the
 * context borrows. */
static void* fill_input(tutti_engine* engine, tutti_context* context, size_t index, tutti_error** error) {
  tutti_port port = TUTTI_PORT_INIT;
  if (tutti_engine_input(engine, index, &port, error) != TUTTI_OK) return NULL;
  int64_t dims[MAX_RANK];
  size_t count = 1;
  for (int32_t i = 0; i < port.rank && i < MAX_RANK; ++i) {
    dims[i] = port.dims[i] < 0 ? 1 : port.dims[i];
    count *= (size_t)dims[i];
  }
  const size_t element = port.dtype == TUTTI_INT64 || port.dtype == TUTTI_FLOAT64 ? 8
                         : port.dtype == TUTTI_BOOL                               ? 1
                                                                                  : 4;
  void* data = port.dtype == TUTTI_FLOAT32 ? random_floats(count) : calloc(count + 1, element);
  tutti_tensor tensor = TUTTI_TENSOR_INIT;
  tensor.dtype = port.dtype;
  tensor.rank = port.rank < 0 ? 0 : port.rank;
  tensor.dims = dims;
  tensor.data = data;
  tensor.size_bytes = count * element;
  if (tutti_context_set_input(context, index, &tensor, error) != TUTTI_OK) {
    free(data);
    return NULL;
  }
  return data;
}

static int print_output(tutti_engine* engine, tutti_context* context, size_t index, tutti_error** error) {
  tutti_port port = TUTTI_PORT_INIT;
  tutti_tensor tensor = TUTTI_TENSOR_INIT;
  if (tutti_engine_output(engine, index, &port, error) != TUTTI_OK) return 1;
  if (tutti_context_output(context, index, &tensor, error) != TUTTI_OK) return 1;
  printf("%s: %s[", port.name, tutti_dtype_name(tensor.dtype));
  for (int32_t i = 0; i < tensor.rank; ++i) printf("%s%lld", i ? "," : "", (long long)tensor.dims[i]);
  printf("]");
  if (tensor.dtype == TUTTI_FLOAT32) {
    const float* values = tensor.data;
    size_t best = 0, count = tensor.size_bytes / sizeof *values;
    for (size_t i = 1; i < count; ++i)
      if (values[i] > values[best]) best = i;
    if (count > 0) printf("  largest: element %lu, %g", (unsigned long)best, values[best]);
  }
  printf("\n");
  return 0;
}

static int run(tutti_engine* engine, tutti_context* context, void** inputs, tutti_error** error) {
  for (size_t i = 0; i < tutti_engine_input_count(engine); ++i)
    if (!(inputs[i] = fill_input(engine, context, i, error))) return 1;
  if (tutti_context_run(context, 0, error) != TUTTI_OK) return 1;
  for (size_t i = 0; i < tutti_engine_output_count(engine); ++i)
    if (print_output(engine, context, i, error)) return 1;
  return 0;
}

int main(int argc, char** argv) {
  tutti_error* error = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: run_engine MODEL.tutti\n");
    return 2;
  }
  if (tutti_check_api_version(TUTTI_API_VERSION, &error) != TUTTI_OK) return failed(error);

  tutti_engine_options options = TUTTI_ENGINE_OPTIONS_INIT;
  options.threads = 2;
  tutti_engine* engine = NULL;
  tutti_context* context = NULL;
  if (tutti_engine_load(argv[1], &options, &engine, &error) != TUTTI_OK) return failed(error);
  if (tutti_context_create(engine, &context, &error) != TUTTI_OK) {
    tutti_engine_destroy(engine);
    return failed(error);
  }
  size_t count = tutti_engine_input_count(engine);
  void** inputs = calloc(count + 1, sizeof *inputs);
  int code = run(engine, context, inputs, &error) ? failed(error) : 0;
  tutti_context_destroy(context);
  tutti_engine_destroy(engine);
  for (size_t i = 0; i < count; ++i) free(inputs[i]);
  free(inputs);
  return code;
}
