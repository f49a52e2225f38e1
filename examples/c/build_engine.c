/* Compiles a model: build_engine MODEL.onnx MODEL.tutti */
#include <stdio.h>
#include <tutti/build.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: build_engine MODEL.onnx MODEL.tutti\n");
    return 2;
  }
  tutti_build_report* report = NULL;
  tutti_error* error = NULL;
  tutti_code code = tutti_build(argv[1], argv[2], NULL, &report, &error);
  printf("%s", tutti_build_report_text(report));
  tutti_build_report_destroy(report);
  if (code == TUTTI_OK) return 0;
  fprintf(stderr, "error (%s): %s\nhint: %s\n", tutti_code_name(code), tutti_error_text(error),
          tutti_error_hint(error));
  tutti_error_destroy(error);
  return 1;
}
