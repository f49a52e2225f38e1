/* Tutti's C interface: loads an engine file and runs it. C99; link libtutti. Building engines: tutti/build.h.
 *
 * Every call that can fail returns a code, TUTTI_OK being 0. Its last parameter may be NULL; otherwise it receives NULL
 * or, on failure, an error object that the caller destroys. No exception leaves the library. Text is UTF-8. What a call
 * returns by pointer through an out parameter is only written on success.
 *
 * Structures begin with `struct_size`: set it to sizeof the structure (the *_INIT macros do), so that later versions
 * may add members at the end.
 */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- versions ---------------------------------------------------------------------------------------------------- */

#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0

/* Of this interface, not of the program: (upper << 16) | lower. The upper half changes when callers must be compiled
 * again, the lower half when something is added. */
#define TUTTI_API_VERSION 1u

/* The library's own TUTTI_API_VERSION, and its version as text, e.g. "0.1.0". */
TUTTI_API uint32_t tutti_api_version(void);
TUTTI_API const char* tutti_version(void);

/* --- errors ------------------------------------------------------------------------------------------------------ */

typedef int32_t tutti_code;
enum {
  TUTTI_OK = 0,
  TUTTI_ERROR_USAGE = 1,         /* a wrong call: a null handle, an index out of range */
  TUTTI_ERROR_INVALID_MODEL = 2, /* the model file or graph is broken */
  TUTTI_ERROR_INVALID_INPUT = 3, /* a tensor or shape that does not fit, a file that is no engine */
  TUTTI_ERROR_NOT_FOUND = 4,     /* a file or name that does not exist */
  TUTTI_ERROR_UNSUPPORTED = 5,   /* valid, but Tutti cannot do it */
  TUTTI_ERROR_CORRUPT = 6,       /* an engine file fails its checks */
  TUTTI_ERROR_VERSION = 7,       /* an engine, or a caller, of another version */
  TUTTI_ERROR_IO = 8,            /* reading or writing failed */
  TUTTI_ERROR_VERIFICATION = 9,  /* a build's results are out of tolerance */
  TUTTI_ERROR_DEVICE = 10,       /* no such device, or it failed */
  TUTTI_ERROR_OUT_OF_MEMORY = 11,
  TUTTI_ERROR_LIMIT = 12,   /* over a limit that the caller or the machine set */
  TUTTI_ERROR_INTERNAL = 13 /* a bug of ours */
};

/* Immutable; may be read from many threads. */
typedef struct tutti_error tutti_error;

/* Never NULL; they live as long as the error. `text` says what was found and what was expected, `hint` what to do (""
 * if there is nothing to say). For a NULL error: TUTTI_OK, "" and "". */
TUTTI_API tutti_code tutti_error_code(const tutti_error* error);
TUTTI_API const char* tutti_error_text(const tutti_error* error);
TUTTI_API const char* tutti_error_hint(const tutti_error* error);
TUTTI_API void tutti_error_destroy(tutti_error* error); /* NULL is fine, as for every destroy function */

/* For libraries that stand on this one and report as it does. Texts are copied and may be NULL. Never returns NULL:
 * without memory it gives an error that says so. */
TUTTI_API tutti_error* tutti_error_create(tutti_code code, const char* text, const char* hint);
/* "usage", "invalid_model", ...; "unknown" for other numbers. */
TUTTI_API const char* tutti_code_name(tutti_code code);

/* TUTTI_ERROR_VERSION when a caller compiled with `caller` (pass TUTTI_API_VERSION) cannot use this library. */
TUTTI_API tutti_code tutti_check_api_version(uint32_t caller, tutti_error** error);

/* --- types ------------------------------------------------------------------------------------------------------- */

/* Element types; the numbers are those of ONNX. */
typedef int32_t tutti_dtype;
enum {
  TUTTI_UNDEFINED = 0,
  TUTTI_FLOAT32 = 1,
  TUTTI_UINT8 = 2,
  TUTTI_INT8 = 3,
  TUTTI_UINT16 = 4,
  TUTTI_INT16 = 5,
  TUTTI_INT32 = 6,
  TUTTI_INT64 = 7,
  TUTTI_STRING = 8, /* data is an array of const char*, each UTF-8 and ending in a zero byte */
  TUTTI_BOOL = 9,   /* one byte, 0 or 1 */
  TUTTI_FLOAT16 = 10,
  TUTTI_FLOAT64 = 11,
  TUTTI_UINT32 = 12,
  TUTTI_UINT64 = 13,
  TUTTI_COMPLEX64 = 14,
  TUTTI_COMPLEX128 = 15,
  TUTTI_BFLOAT16 = 16,
  TUTTI_FLOAT8E4M3FN = 17,
  TUTTI_FLOAT8E4M3FNUZ = 18,
  TUTTI_FLOAT8E5M2 = 19,
  TUTTI_FLOAT8E5M2FNUZ = 20,
  TUTTI_UINT4 = 21, /* 4 and 2 bit types are packed, the first element in the low bits */
  TUTTI_INT4 = 22,
  TUTTI_FLOAT4E2M1 = 23,
  TUTTI_FLOAT8E8M0 = 24,
  TUTTI_UINT2 = 25,
  TUTTI_INT2 = 26
};
/* "float32", ...; "unknown" for other numbers. */
TUTTI_API const char* tutti_dtype_name(tutti_dtype dtype);

/* A dense row-major tensor that somebody else owns. */
typedef struct tutti_tensor {
  size_t struct_size;
  tutti_dtype dtype;
  int32_t rank;
  const int64_t* dims;
  const void* data;
  size_t size_bytes; /* of the data; for strings, of the array of pointers */
} tutti_tensor;
#define TUTTI_TENSOR_INIT \
  { sizeof(tutti_tensor), 0, 0, NULL, NULL, 0 }

/* An input or output as the engine declares it. The engine owns what is pointed to. */
typedef struct tutti_port {
  size_t struct_size;
  const char* name;
  tutti_dtype dtype;
  int32_t rank;               /* -1: any */
  const int64_t* dims;        /* -1: open, decided by the inputs or the data */
  const char* const* symbols; /* by dimension: what an open one is called, e.g. "batch" or "2*n+1"; NULL where fixed */
  int32_t is_sequence;        /* a sequence of tensors: this interface can tell, but neither give nor take one */
  int32_t is_optional;        /* may be left out (input) or empty (output) */
} tutti_port;
#define TUTTI_PORT_INIT \
  { sizeof(tutti_port), NULL, 0, 0, NULL, NULL, 0, 0 }

/* --- engines ----------------------------------------------------------------------------------------------------- */

typedef struct tutti_engine_options {
  size_t struct_size;
  int32_t threads;             /* of the engine, shared by its contexts; 0: every CPU that the process may use */
  uint64_t memory_limit_bytes; /* packed weights, work memory and results of all contexts; 0: the machine's memory */
  const char* device;          /* "auto", "cpu"; NULL: "auto" */
  int32_t verify_weights;      /* not 0: read the whole file and check every weight's hash before it is used */
} tutti_engine_options;
#define TUTTI_ENGINE_OPTIONS_INIT \
  { sizeof(tutti_engine_options), 0, 0, NULL, 0 }

/* A loaded model. Thread-safe: share it between threads, each with a context of its own. It may be destroyed before its
 * contexts, which keep what they need. */
typedef struct tutti_engine tutti_engine;

/* Maps the engine file, which must not change while the engine lives. `options` may be NULL. */
TUTTI_API tutti_code tutti_engine_load(const char* path, const tutti_engine_options* options, tutti_engine** engine,
                                       tutti_error** error);
TUTTI_API void tutti_engine_destroy(tutti_engine* engine);

TUTTI_API size_t tutti_engine_input_count(const tutti_engine* engine); /* 0 for NULL */
TUTTI_API size_t tutti_engine_output_count(const tutti_engine* engine);
TUTTI_API tutti_code tutti_engine_input(const tutti_engine* engine, size_t index, tutti_port* port,
                                        tutti_error** error);
TUTTI_API tutti_code tutti_engine_output(const tutti_engine* engine, size_t index, tutti_port* port,
                                         tutti_error** error);
/* The index of a name; TUTTI_ERROR_NOT_FOUND lists the names that there are. */
TUTTI_API tutti_code tutti_engine_find_input(const tutti_engine* engine, const char* name, size_t* index,
                                             tutti_error** error);
TUTTI_API tutti_code tutti_engine_find_output(const tutti_engine* engine, const char* name, size_t* index,
                                              tutti_error** error);

/* Text that the model brought along (producer, labels, licence), sorted by key. The engine owns it. */
TUTTI_API size_t tutti_engine_metadata_count(const tutti_engine* engine);
TUTTI_API tutti_code tutti_engine_metadata(const tutti_engine* engine, size_t index, const char** key,
                                           const char** value, tutti_error** error);

/* What counts towards memory_limit_bytes, now. */
TUTTI_API uint64_t tutti_engine_memory_bytes(const tutti_engine* engine);

/* --- contexts ---------------------------------------------------------------------------------------------------- */

/* One caller's runs of an engine, with its work memory. One thread at a time. */
typedef struct tutti_context tutti_context;

TUTTI_API tutti_code tutti_context_create(tutti_engine* engine, tutti_context** context, tutti_error** error);
TUTTI_API void tutti_context_destroy(tutti_context* context);

/* Says where an input's data lies, for every run from now on. Data and dims of a wrong type, rank or size are refused
 * here; sizes that must agree between inputs are checked by the run. `tensor->dims` is copied. `tensor->data` is
 * borrowed, aligned to its element, until another tensor is set or the context is destroyed, and must not change during
 * a run; strings are copied at once. `size_bytes` must be what type and dims need. NULL as tensor: no longer given. */
TUTTI_API tutti_code tutti_context_set_input(tutti_context* context, size_t index, const tutti_tensor* tensor,
                                             tutti_error** error);

/* Where an output goes in every run from now on: into `capacity_bytes` bytes at `data`, aligned to the element, that
 * the caller keeps until it binds something else or destroys the context. Results are computed there where their size
 * is known from the inputs, copied there otherwise: it must not overlap an input's data. A run whose result is larger
 * fails. NULL: the context allocates. Not for strings. */
TUTTI_API tutti_code tutti_context_bind_output(tutti_context* context, size_t index, void* data, size_t capacity_bytes,
                                               tutti_error** error);

/* Runs the engine; returns when the outputs are there. `seed` is for models with random operators. */
TUTTI_API tutti_code tutti_context_run(tutti_context* context, uint64_t seed, tutti_error** error);

/* A result of the last run, which must have succeeded: valid until the next run or until the context is destroyed. It
 * may lie in a bound buffer, or in an input's data where the model passes one through. An empty optional output has the
 * type TUTTI_UNDEFINED. */
TUTTI_API tutti_code tutti_context_output(const tutti_context* context, size_t index, tutti_tensor* tensor,
                                          tutti_error** error);

#ifdef __cplusplus
}
#endif

#endif /* TUTTI_TUTTI_H */
