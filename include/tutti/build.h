/* Builds engine files from ONNX models. C99; link libtutti_compile and libtutti. A program that only runs engines needs
 * neither this header nor that library. Conventions as in tutti.h. */
#ifndef TUTTI_BUILD_H
#define TUTTI_BUILD_H

#include <tutti/tutti.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far a build is compared with the reference interpreter before it is saved. */
typedef int32_t tutti_verify;
enum {
  TUTTI_VERIFY_FAST = 0, /* each step with its operator's reference */
  TUTTI_VERIFY_FULL = 1, /* and the whole model, at several sizes */
  TUTTI_VERIFY_OFF = 2
};

typedef struct tutti_build_options {
  size_t struct_size;
  tutti_verify verify;
  const char* shapes;          /* "image=1x3x224x224,ids=1x1:1x32:1x512", hints for open dimensions; NULL: none */
  int32_t threads;             /* for verification; 0: every CPU that the process may use */
  uint64_t memory_limit_bytes; /* for verification; 0: the machine's memory */
  const char* device;          /* NULL: "auto" */
} tutti_build_options;
#define TUTTI_BUILD_OPTIONS_INIT \
  { sizeof(tutti_build_options), TUTTI_VERIFY_FAST, NULL, 0, 0, NULL }

/* What a build found and did. Immutable. */
typedef struct tutti_build_report tutti_build_report;

/* Compiles `model_path` and writes `engine_path`, which is replaced only when all went well. `options` may be NULL. If
 * `report` is not NULL it receives a report that the caller destroys, also when the build fails (NULL only without
 * memory). Thread-safe: builds share nothing. Takes seconds, and several times the model's size in memory. */
TUTTI_API tutti_code tutti_build(const char* model_path, const char* engine_path, const tutti_build_options* options,
                                 tutti_build_report** report, tutti_error** error);

/* Lines for a person: every node that cannot be compiled, warnings, passes, verification. Lives as long as the report;
 * "" for NULL. */
TUTTI_API const char* tutti_build_report_text(const tutti_build_report* report);
TUTTI_API void tutti_build_report_destroy(tutti_build_report* report);

#ifdef __cplusplus
}
#endif

#endif /* TUTTI_BUILD_H */
