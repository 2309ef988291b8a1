/* The boundary between Kiln and its compute backends: plain C99, one exported symbol.
 *
 * A backend is a shared library that exports only kiln_backend_query. The host calls it once to
 * negotiate a version; from then on the host calls the table kiln_backend_api, and the backend
 * calls kiln_host_api. Read kiln_backend_query first, then the two tables; README.md beside this
 * file says how to build a plugin. C++ authors use kiln_backend_sdk.h, which implements the
 * rules below. */

/* Rules that hold everywhere below:
 *  - Every struct begins with struct_size (the size its filler was compiled with) and next (a
 *    chain of extensions, usually null). A reader takes fields beyond struct_size as zero, and
 *    zero always means "as before the field existed". Bytes beyond the reader's own struct that
 *    are not zero are an error. The exceptions are the value types (kiln_string, kiln_bytes,
 *    kiln_dims, kiln_array): they are frozen for ever.
 *  - For a struct that the callee fills, the caller sets struct_size and the callee writes no
 *    more than that.
 *  - From the first release on, tables and structs are only ever appended to, and numbers keep
 *    their meaning. Until then there is one version; see below.
 *  - Text is UTF-8 with a length; it need not end in a zero byte.
 *  - The host validates everything that a plugin reports. A null address with a non-zero length, a
 *    length, rank or count beyond the limits below, text that is not UTF-8, an unknown element
 *    type, a negative dim, a size that does not follow from dtype and dims, a count or type other
 *    than the module's, an exception: each fails the call with a BackendError that names the
 *    backend and the function of the table, and no variable changes. Services of the host return
 *    KILN_CODE_INVALID_ARGUMENT for such arguments, or log an error where they return nothing.
 *  - Ownership: arguments are borrowed for the duration of the call unless a function says
 *    otherwise. Handles that the plugin returns (instances, executables, buffers, events, frames,
 *    errors) belong to the host, which gives each to its destroy function once. Memory is freed by
 *    the side that allocated it. The host destroys all objects of an instance before the instance.
 *  - Errors: a function that returns kiln_error* returns null for success. On failure every output
 *    is left as it was. Destroy functions accept null and cannot fail.
 *  - No exception and no longjmp crosses, in either direction; neither side aborts or exits.
 *  - Threads: instances, executables and events may be used by several threads at once; buffers may
 *    be read by several threads at once. The table says where a function is more restricted. */
#ifndef KILN_BACKEND_H
#define KILN_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ---- */

/* Until the first release the ABI has this one version: a change of the interface, or of the module
 * format, increments the minor, and each side rejects any other version. */
#define KILN_ABI_MAJOR 0u
#define KILN_ABI_MINOR 6u

#define KILN_HOST_MAGIC 0x54534f484e4c494bull /* "KILNHOST" as little-endian bytes */
#define KILN_BACKEND_MAGIC 0x444e454b434142ull /* "BACKEND" */
#define KILN_ENTRY_SYMBOL "kiln_backend_query"

/* ---- Numbers ---- */

/* Codes of errors, of a rejected query and of host callbacks. */
enum {
  KILN_CODE_OK = 0,
  KILN_CODE_CANCELLED = 1,
  KILN_CODE_UNKNOWN = 2,
  KILN_CODE_INVALID_ARGUMENT = 3,
  KILN_CODE_DEADLINE_EXCEEDED = 4,
  KILN_CODE_NOT_FOUND = 5,
  KILN_CODE_ALREADY_EXISTS = 6,
  KILN_CODE_PERMISSION_DENIED = 7,
  KILN_CODE_RESOURCE_EXHAUSTED = 8,
  KILN_CODE_FAILED_PRECONDITION = 9,
  KILN_CODE_ABORTED = 10,
  KILN_CODE_OUT_OF_RANGE = 11,
  KILN_CODE_UNIMPLEMENTED = 12,
  KILN_CODE_INTERNAL = 13,
  KILN_CODE_UNAVAILABLE = 14,
  KILN_CODE_DATA_LOSS = 15
};

/* Element types, numbered as in the module format. */
enum {
  /* One byte. The host gives 0 or 1; in results any other byte than 0 counts as 1. */
  KILN_DTYPE_BOOL = 0,
  KILN_DTYPE_INT8 = 1,
  KILN_DTYPE_INT16 = 2,
  KILN_DTYPE_INT32 = 3,
  KILN_DTYPE_INT64 = 4,
  KILN_DTYPE_UINT8 = 5,
  KILN_DTYPE_UINT16 = 6,
  KILN_DTYPE_UINT32 = 7,
  KILN_DTYPE_UINT64 = 8,
  KILN_DTYPE_FLOAT16 = 9,
  KILN_DTYPE_BFLOAT16 = 10,
  KILN_DTYPE_FLOAT32 = 11,
  KILN_DTYPE_FLOAT64 = 12
};

/* How an object was instrumented. Two different kinds cannot share a process. */
enum { KILN_SANITIZER_NONE = 0, KILN_SANITIZER_ADDRESS = 1, KILN_SANITIZER_THREAD = 2 };

/* Levels of log lines and of executable messages. */
enum { KILN_LOG_ERROR = 0, KILN_LOG_WARNING = 1, KILN_LOG_INFO = 2, KILN_LOG_DEBUG = 3 };

/* Bits of kiln_backend_header.features. */
#define KILN_FEATURE_CONCURRENT_COMPILE 1ull /* compile may run on several threads at once */
#define KILN_FEATURE_FORK_SAFE 2ull /* instances keep working in a forked child */

/* How buffer_import_host may use the caller's memory. */
enum {
  KILN_IMPORT_COPY = 0, /* read before the call returns */
  KILN_IMPORT_IMMUTABLE = 1, /* may be read until buffer_destroy; neither side writes it before */
  /* May be read and written until buffer_destroy; until then the host accesses the memory only
   * through the buffer. A buffer that borrows it has its address as kiln_buffer_info.host_data;
   * any other address means a copy. */
  KILN_IMPORT_MUTABLE = 2
};

#define KILN_WAIT_FOREVER UINT64_MAX

/* ---- Limits ---- */

#define KILN_MAX_NAME 64u /* bytes of a backend's or an op's name */
#define KILN_MAX_TEXT ((uint64_t)1 << 20) /* bytes of any other text */
#define KILN_MAX_BYTES ((uint64_t)1 << 40) /* of a module or constant */
#define KILN_MAX_DUMP ((uint64_t)1 << 30) /* bytes of one dump */
#define KILN_MAX_COUNT ((uint64_t)1 << 20) /* elements of an array */
#define KILN_MAX_RANK 64u

/* ---- Value types: frozen, without struct_size ---- */

typedef struct kiln_string {
  const char* data; /* may be null when size is 0 */
  uint64_t size;
} kiln_string;

typedef struct kiln_bytes {
  const void* data;
  uint64_t size;
} kiln_bytes;

typedef struct kiln_dims {
  const int64_t* data; /* each >= 0; dense row-major layout everywhere on this boundary */
  uint64_t rank;
} kiln_dims;

/* `count` structs, each element_stride bytes after the one before, so that elements may grow. */
typedef struct kiln_array {
  const void* data;
  uint64_t count;
  uint64_t element_stride;
} kiln_array;

/* ---- Types that both sides use ---- */

/* The header of an extension, followed by its payload. type_id: 64-bit FNV-1a of a
 * reverse-domain text, so that no registry of numbers is needed. A reader skips an unknown type
 * unless must_understand. */
typedef struct kiln_ext {
  uint64_t struct_size;
  const struct kiln_ext* next;
  uint64_t type_id;
  uint32_t must_understand;
  uint32_t reserved;
} kiln_ext;

/* A key and its value: options, log fields, error details. */
typedef struct kiln_option {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_string key;
  kiln_string value;
} kiln_option;

/* A dense tensor in host memory. */
typedef struct kiln_view {
  uint64_t struct_size;
  const kiln_ext* next;
  void* data; /* to be written only where the function says so */
  kiln_dims dims;
  uint32_t dtype;
  uint32_t reserved;
} kiln_view;

typedef struct kiln_error kiln_error; /* created and freed by the plugin */
typedef struct kiln_instance kiln_instance; /* a configured backend */
typedef struct kiln_executable kiln_executable; /* a compiled module, immutable */
typedef struct kiln_buffer kiln_buffer; /* a tensor in the backend's memory */
typedef struct kiln_event kiln_event; /* the completion of asynchronous work */
typedef struct kiln_frame kiln_frame; /* a prepared call that runs many times */

/* ---- Services of the host ---- */

/* Runs indices [begin, end) of a parallel loop. Returns KILN_CODE_OK, or a code that stops the
 * loop. */
typedef uint32_t (*kiln_range_fn)(void* context, uint64_t begin, uint64_t end);

typedef struct kiln_dump_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_string label; /* of the executable, from kiln_compile_args or kiln_execute_args */
  kiln_string stage; /* "llvm-ir", "asm", "cuda-c", "memory-plan", ... */
  kiln_string name; /* of the item within the stage, such as a kernel; may be empty */
  kiln_string media_type; /* "text/plain", "application/octet-stream", ... */
  kiln_bytes bytes;
  uint64_t ordinal; /* of the item within the stage */
} kiln_dump_args;

typedef struct kiln_host_call_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_string name; /* of the host function */
  kiln_bytes payload; /* its attributes, as in the module */
  kiln_array inputs; /* of kiln_view, read only */
  kiln_array outputs; /* of kiln_view, to be written; dtypes and dims are given */
  char* error_text; /* receives the reason, truncated to the capacity, zero-terminated */
  uint64_t error_capacity;
} kiln_host_call_args;

/* All may be called from any thread, until instance_destroy returns, and never throw. The first
 * argument is kiln_instance_args.host_context, except for host_call. */
typedef struct kiln_host_api {
  uint64_t struct_size;
  const kiln_ext* next;

  /* Logs a line; plugins write nothing to stdout or stderr themselves. `fields`: of kiln_option. */
  void (*log)(void* host, uint32_t level, kiln_string component, kiln_string message,
              const kiln_array* fields);
  uint32_t (*log_enabled)(void* host, uint32_t level);

  /* dump_wanted: whether the user dumps the stage (1 or 0). dump: gives one item of the stage. */
  uint32_t (*dump_wanted)(void* host, kiln_string stage);
  void (*dump)(void* host, const kiln_dump_args* args);

  /* The host's only thread pool. parallel_for calls body on disjoint ranges that make up [0, n),
   * on several threads and on the calling one, and returns when all calls have returned:
   * KILN_CODE_OK, or the first other code. Nested calls run inline. The ranges depend on the
   * number of threads, so that results must not depend on the ranges. */
  uint32_t (*thread_count)(void* host);
  uint32_t (*parallel_for)(void* host, uint64_t n, kiln_range_fn body, void* body_context);

  /* Runs a host function by name. call_context: kiln_execute_args.host_call_context. For a code
   * other than KILN_CODE_OK, args->error_text holds the reason. A collective of several ranks is
   * two calls, "collective_start", which copies its inputs and returns at once, and
   * "collective_wait"; their operands order them, and each runs once in a call. The inputs, and the
   * outputs of the wait, are the parts of a bucket; only an all-reduce has several. Both have the
   * payload "NUMBER KIND REDUCTION AXIS ROOT GROUP RANKS", decimal numbers: that of the collective
   * in the program, then the attributes of the module's op collective. A run of a program
   * with collectives that writes over its own states (updates_in_place) calls "collective_agree",
   * without inputs and outputs, before the first such write, and cannot fail after it.
   * A backend that runs collectives itself (kiln_executable_info.runs_collectives) calls these
   * instead of start and wait, and "collective_agree" as others do:
   *  - "collective_group", payload: the number of a group. Output int64[6]: rank, size, rank and
   *    size among the ranks of this machine, milliseconds that a rank waits for others, and a
   *    number that differs between sessions of the process. call_context may be null; without a
   *    group of ranks, group 0 has one rank.
   *  - "collective_open", without payload, inputs and outputs: once a run, before its first
   *    collective and as late as that. All ranks agree on the call. A failure ends the call; a run
   *    that fails before has entered no collective, one that fails afterwards enters those that are
   *    left, with any contents, before it returns its error.
   *  - "collective_exchange", payload: the number of a group. Input uint8[n], output uint8[ranks,
   *    n]: the bytes of all ranks. By all ranks of the group at the same point after
   *    "collective_open".
   *  - "collective_break", payload: a reason. Ends the call and makes the groups unusable. Always
   *    fails; the run returns an error at once. For a rank that cannot enter what is left. */
  uint32_t (*host_call)(void* call_context, const kiln_host_call_args* args);
} kiln_host_api;

/* ---- Errors ---- */

/* Filled by error_read; everything it points to lives as long as the error. */
typedef struct kiln_error_info {
  uint64_t struct_size;
  const kiln_ext* next;
  uint32_t code; /* KILN_CODE_..., never OK; an unknown one counts as UNKNOWN */
  uint32_t retryable; /* 1: the same call may succeed later */
  kiln_string message;
  kiln_string location; /* the user's source line, from the module; may be empty */
  kiln_string native_library; /* "CUDA", "oneDNN", ...; empty when none is involved */
  int64_t native_code;
  const uint64_t* nodes; /* ids of module nodes */
  uint64_t node_count;
  kiln_array details; /* of kiln_option */
  const kiln_error* cause; /* owned by this error; null at the end of the chain */
} kiln_error_info;

/* ---- Probe and instance ---- */

typedef struct kiln_probe_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_array options; /* of kiln_option */
  /* To be called for each detail to show, and once for the reason of score 0; texts may be
   * temporary. */
  void (*on_detail)(void* text_context, kiln_string text);
  void (*on_reason)(void* text_context, kiln_string text);
  void* text_context;
} kiln_probe_args;

typedef struct kiln_probe_result {
  uint64_t struct_size;
  const kiln_ext* next;
  /* 0: cannot run programs on this machine with these options, so that the host does not choose the
   * backend; an instance may still compile. Otherwise breaks ties when the host may choose. */
  uint32_t score;
  uint32_t reserved;
} kiln_probe_result;

typedef struct kiln_instance_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_array options; /* of kiln_option; an unknown key is an error that names it */
  /* Both live until instance_destroy returns. They belong to the instance, not to the plugin:
   * two hosts in one process have one each. */
  const kiln_host_api* host;
  void* host_context;
} kiln_instance_args;

/* ---- Capabilities ---- */

/* One op that the backend runs. */
typedef struct kiln_op_support {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_string name;
  uint32_t version_lowest;
  uint32_t version_highest;
  uint64_t digest; /* of the op's printed definition that the plugin was built with; 0: unknown */
  uint64_t dtypes; /* bit d: element type d; of the op's first operand, or of its result */
  uint64_t flags; /* none yet */
} kiln_op_support;

/* One node that the backend cannot run. */
typedef struct kiln_unsupported {
  uint64_t struct_size;
  const kiln_ext* next;
  uint64_t node; /* id in the module */
  kiln_string op;
  kiln_string reason; /* "no kernel for int8", ... */
  kiln_string location; /* the user's source line, from the module; may be empty */
} kiln_unsupported;

typedef struct kiln_check_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_bytes module;
  void (*on_unsupported)(void* context, const kiln_unsupported* node);
  void* context;
} kiln_check_args;

/* ---- Compiling ---- */

/* The elements of a constant that the module refers to; the module has its dtype and dims. */
typedef struct kiln_constant {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_bytes bytes;
} kiln_constant;

typedef struct kiln_compile_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_bytes module; /* the versioned format of core/module */
  kiln_array constants; /* of kiln_constant, in the module's order */
  kiln_array options; /* of kiln_option; an unknown key is an error that names it */
  kiln_string label; /* names the program in dumps and logs */
} kiln_compile_args;

typedef struct kiln_message {
  uint64_t struct_size;
  const kiln_ext* next;
  uint32_t level; /* KILN_LOG_... */
  uint32_t reserved;
  kiln_string text;
} kiln_message;

/* Filled by executable_info; pointers are valid as long as the executable. The first four counts
 * are those of the module, or all 0 if not reported; updates_in_place is then ignored. */
typedef struct kiln_executable_info {
  uint64_t struct_size;
  const kiln_ext* next;
  uint64_t inputs;
  uint64_t states;
  uint64_t outputs;
  uint64_t updates;
  kiln_array messages; /* of kiln_message */
  /* Statistics so far: code generations, bindings (tuples of sizes that were prepared), and the
   * largest memory for temporary tensors of a binding, in bytes: as planned, and the part of it
   * that is live at one time. 0 where the backend has no such number. */
  uint64_t code_generations;
  uint64_t bindings;
  uint64_t planned_bytes;
  uint64_t live_bytes;
  /* One per update. 1: the host may give a run of a frame the buffer of the update's own state as
   * destination, where nothing else uses that state. Null: 0 for all. */
  const uint8_t* updates_in_place;
  /* The machine that the code computes for, such as "avx512": equal modules compiled for equal
   * texts compute equal bits. Ranks of a group with different texts are rejected. May be empty. */
  kiln_string target;
  uint32_t runs_collectives; /* 1: the backend runs collectives itself, not "collective_start" */
  uint32_t reserved;
} kiln_executable_info;

/* ---- Buffers ---- */

typedef struct kiln_buffer_spec {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_dims dims;
  uint32_t dtype;
  uint32_t reserved;
} kiln_buffer_spec;

typedef struct kiln_import_args {
  uint64_t struct_size;
  const kiln_ext* next;
  const void* data; /* may be null when the tensor has no elements; KILN_IMPORT_MUTABLE: written */
  kiln_dims dims;
  uint32_t dtype;
  uint32_t semantics; /* KILN_IMPORT_... */
} kiln_import_args;

/* Filled by buffer_info; pointers are valid as long as the buffer. Dims, dtype and size never
 * change, even if a call writes the buffer. */
typedef struct kiln_buffer_info {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_dims dims;
  uint32_t dtype;
  uint32_t reserved;
  uint64_t size; /* in bytes */
  const void* host_data; /* the elements, where the host can read them in place; else null */
} kiln_buffer_info;

/* ---- Executing ---- */

typedef struct kiln_state_in {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_buffer* buffer;
  /* 1: the host does not read the buffer again, its memory may be reused. If execute succeeds,
   * the host only destroys the handle. */
  uint32_t donate;
  uint32_t reserved;
  /* Equal versions mean equal contents, in any buffer; a state that was written has a new
   * version. For caching derived data, such as packed weights. 0: unknown. */
  uint64_t version;
} kiln_state_in;

/* Inputs are the module's placeholders, states its state table, outputs its outputs, updates its
 * list of (state, new value), each in the module's order. All updates are computed from the state
 * before the call.
 * A null handle in outputs or state_out asks the backend to allocate: on success it stores a new
 * buffer there, which the host owns. Any other handle is a buffer of the host's with the dtype and
 * dims of the result, neither an input nor a state of this call, whose contents may be overwritten.
 * The backend writes the result into it and leaves the handle as it is: it neither replaces nor
 * destroys the buffer. On failure the contents are undefined, and handles that were null are null.
 * All handles of results differ from each other and from inputs and states. No result shares
 * memory with an input, with an undonated state or with another result, even where the program
 * only passes a value through. */
typedef struct kiln_execute_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_buffer* const* inputs;
  uint64_t input_count;
  kiln_array states; /* of kiln_state_in */
  kiln_buffer** outputs; /* in and out */
  uint64_t output_count;
  kiln_buffer** state_out; /* in and out; one per update */
  uint64_t update_count;
  uint64_t seed; /* with call_counter, fixes what the random ops draw */
  uint64_t call_counter;
  void* host_call_context;
  kiln_string label; /* names this call in dumps */
} kiln_execute_args;

/* ---- Prepared calls ---- */

/* The operands and results of a frame's runs, all in host memory but states and updates. The
 * host owns this struct and the arrays that it points at, and does not move them until
 * frame_destroy; counts, ranks and dtypes never change. The host sets everything else between
 * runs; dims, pointers and buffers are unset before the first run. */
typedef struct kiln_frame_io {
  uint64_t struct_size;
  const kiln_ext* next;
  /* A run writes only to the data of outputs and the buffers of updates. Data is aligned for its
   * element type only; it may be null for a tensor without elements. Outputs have the dims of
   * the results and share no memory with inputs or each other. */
  kiln_array inputs; /* of kiln_view, only read */
  kiln_array outputs; /* of kiln_view, written */
  kiln_array states; /* of kiln_state_in, donate 0 */
  /* One destination per update. It is not a state of this run, but may be the update's
   * own state where kiln_executable_info.updates_in_place is 1; a run that fails leaves that
   * state as it was. */
  kiln_buffer* const* updates;
  uint64_t update_count;
  uint64_t sizes_serial; /* differs from the run before: dims may have changed */
  uint64_t seed;
  uint64_t call_counter;
  void* host_call_context;
  kiln_string label;
} kiln_frame_io;

/* ---- The backend's table ---- */

typedef void (*kiln_proc)(void);

/* By get_proc: dumps every stage that the host wants (kiln_host_api.dump) in the executable's
 * current state, such as memory plans and times of past calls. Any thread. Without it the host
 * has only the dumps of compile. */
#define KILN_PROC_EXECUTABLE_DUMP "executable_dump_v1"
typedef kiln_error* (*kiln_executable_dump_v1_fn)(const kiln_executable* executable);

/* By get_proc: calls on_pass with the name of each pass that the option "disable" of compile can
 * disable; the option's value is names separated by commas. Without it there are none, and the host
 * does not give the option. */
#define KILN_PROC_INSTANCE_PASSES "instance_passes_v1"
typedef kiln_error* (*kiln_instance_passes_v1_fn)(kiln_instance* instance,
                                                  void (*on_pass)(void* context, kiln_string name),
                                                  void* context);

/* By get_proc: calls on_option with the name of each option of instance_create. If a default
 * comes from the environment, the variable is KILN_<BACKEND>_<OPTION>. Without it the host does
 * not know the options. */
#define KILN_PROC_OPTION_NAMES "option_names_v1"
typedef kiln_error* (*kiln_option_names_v1_fn)(void (*on_option)(void* context, kiln_string name),
                                               void* context);

/* Entries marked optional may be null; the fallback says what the host then does. All others are
 * required, and stay so within the major version. */
typedef struct kiln_backend_api {
  uint64_t struct_size;
  const kiln_ext* next;

  /* Describes an error; *info points into it. */
  void (*error_read)(const kiln_error* error, kiln_error_info* info);
  void (*error_destroy)(kiln_error* error);

  /* Reports whether the backend can run here. Must be cheap: may look for drivers, must not start
   * devices or threads. Optional: usable, score 1. */
  kiln_error* (*probe)(const kiln_probe_args* args, kiln_probe_result* result);

  /* Creates a configured backend. */
  kiln_error* (*instance_create)(const kiln_instance_args* args, kiln_instance** instance);
  /* Waits for running work; afterwards the host calls only destroy functions. Optional: nothing. */
  kiln_error* (*instance_shutdown)(kiln_instance* instance);
  void (*instance_destroy)(kiln_instance* instance);

  /* Sets *ops to an array of kiln_op_support that lives as long as the instance. Optional: no
   * list. */
  kiln_error* (*op_table)(kiln_instance* instance, kiln_array* ops);
  /* Reports every node that compile would reject. Optional: the host compiles without a check. */
  kiln_error* (*check)(kiln_instance* instance, const kiln_check_args* args);

  /* Compiles a module. One thread at a time per instance, unless
   * KILN_FEATURE_CONCURRENT_COMPILE. */
  kiln_error* (*compile)(kiln_instance* instance, const kiln_compile_args* args,
                         kiln_executable** executable);
  kiln_error* (*executable_info)(const kiln_executable* executable, kiln_executable_info* info);
  void (*executable_destroy)(kiln_executable* executable);

  /* Allocates a buffer with undefined contents. */
  kiln_error* (*buffer_allocate)(kiln_instance* instance, const kiln_buffer_spec* spec,
                                 kiln_buffer** buffer);
  /* Creates a buffer with the elements at args->data, which it copies or, with
   * KILN_IMPORT_IMMUTABLE or KILN_IMPORT_MUTABLE, may borrow until buffer_destroy. */
  kiln_error* (*buffer_import_host)(kiln_instance* instance, const kiln_import_args* args,
                                    kiln_buffer** buffer);
  /* Sets *size to the size in bytes, waits for the contents and copies them, unless destination
   * is null. A capacity below the size is an error. */
  kiln_error* (*buffer_copy_to_host)(const kiln_buffer* buffer, void* destination,
                                     uint64_t capacity, uint64_t* size);
  kiln_error* (*buffer_info)(const kiln_buffer* buffer, kiln_buffer_info* info);
  void (*buffer_destroy)(kiln_buffer* buffer);

  /* Runs the executable. Reentrant. *event is null if the work is complete on return. An error
   * returned here means that inputs and states are unchanged, donated or not; an error of the
   * event means that donated states are lost. */
  kiln_error* (*execute)(const kiln_executable* executable, const kiln_execute_args* args,
                         kiln_event** event);

  /* Waits at most that long. *done: 1 if the work is over, as always after KILN_WAIT_FOREVER.
   * Returns the error of the work. */
  kiln_error* (*event_wait)(kiln_event* event, uint64_t timeout_nanoseconds, uint32_t* done);
  void (*event_destroy)(kiln_event* event);

  /* Returns an experimental function by name, "something_v1", or null. Optional: none. */
  kiln_proc (*get_proc)(kiln_string name);

  /* Prepares a call of the executable, so that a run can reuse the resolved pointers, sizes and
   * scratch memory of the run before. The frame refers to *io until frame_destroy. *frame null: the
   * host runs this executable by execute. Optional, the three together: execute. */
  kiln_error* (*frame_create)(const kiln_executable* executable, const kiln_frame_io* io,
                              kiln_frame** frame);
  /* Does what execute does, complete on return. One thread at a time runs a frame; several
   * frames of one executable run at once. After an error inputs and states are unchanged;
   * outputs and other destinations of updates are undefined. */
  kiln_error* (*frame_run)(kiln_frame* frame);
  void (*frame_destroy)(kiln_frame* frame); /* before its executable */
} kiln_backend_api;

/* ---- The entry ---- */

typedef struct kiln_host_info {
  uint64_t struct_size;
  const kiln_ext* next;
  uint64_t magic; /* KILN_HOST_MAGIC */
  uint32_t abi_major; /* the layout up to here and of the next three is frozen for ever */
  uint32_t abi_minor_lowest; /* both KILN_ABI_MINOR until the first release */
  uint32_t abi_minor_highest;
  uint32_t sanitizer; /* KILN_SANITIZER_... */
  kiln_string library_version; /* of the host, for messages */
  kiln_string library_path;
  char* reason; /* receives the reason of a rejection, zero-terminated; no error objects yet */
  uint64_t reason_capacity;
} kiln_host_info;

typedef struct kiln_backend_header {
  uint64_t struct_size;
  const kiln_ext* next;
  uint64_t magic; /* KILN_BACKEND_MAGIC */
  uint32_t abi_major; /* frozen for ever from the start to sanitizer */
  uint32_t abi_minor_lowest; /* both KILN_ABI_MINOR until the first release */
  uint32_t abi_minor_highest;
  uint32_t sanitizer;
  /* [a-z][a-z0-9_]*, at most 64 bytes. Users can select the plugin by this name only if
   * its file is libkiln_<name>.so beside the host's library. Any other is selected by its path. */
  kiln_string name;
  kiln_string version; /* of the plugin */
  kiln_string build_id; /* two builds that may compile differently differ in it */
  kiln_string toolchain; /* compiler and C++ library, information only */
  uint64_t features; /* KILN_FEATURE_... */
  uint64_t required_api_size; /* bytes of kiln_backend_api that the plugin fills */
  const kiln_backend_api* api;
} kiln_backend_header;

/* The only exported symbol. Sets *header to constant data that is never freed and returns
 * KILN_CODE_OK, or writes a reason to host->reason and returns another code. Must not use
 * drivers, threads, files or environment variables. A plugin of another version than the host's
 * sets the header nevertheless and returns OK, so that the host can show both versions. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
uint32_t
kiln_backend_query(const kiln_host_info* host, const kiln_backend_header** header);
typedef uint32_t (*kiln_backend_query_fn)(const kiln_host_info*, const kiln_backend_header**);

/* ---- Sizes in this version (64-bit); a mistake fails every build ---- */

#define KILN_ASSERT_SIZE(type, bytes) \
  typedef char kiln_size_of_##type[sizeof(struct type) == (bytes) ? 1 : -1]
KILN_ASSERT_SIZE(kiln_string, 16);
KILN_ASSERT_SIZE(kiln_bytes, 16);
KILN_ASSERT_SIZE(kiln_dims, 16);
KILN_ASSERT_SIZE(kiln_array, 24);
KILN_ASSERT_SIZE(kiln_ext, 32);
KILN_ASSERT_SIZE(kiln_option, 48);
KILN_ASSERT_SIZE(kiln_view, 48);
KILN_ASSERT_SIZE(kiln_dump_args, 104);
KILN_ASSERT_SIZE(kiln_host_call_args, 112);
KILN_ASSERT_SIZE(kiln_host_api, 72);
KILN_ASSERT_SIZE(kiln_error_info, 128);
KILN_ASSERT_SIZE(kiln_probe_args, 64);
KILN_ASSERT_SIZE(kiln_probe_result, 24);
KILN_ASSERT_SIZE(kiln_instance_args, 56);
KILN_ASSERT_SIZE(kiln_op_support, 64);
KILN_ASSERT_SIZE(kiln_unsupported, 72);
KILN_ASSERT_SIZE(kiln_check_args, 48);
KILN_ASSERT_SIZE(kiln_constant, 32);
KILN_ASSERT_SIZE(kiln_compile_args, 96);
KILN_ASSERT_SIZE(kiln_message, 40);
KILN_ASSERT_SIZE(kiln_executable_info, 136);
KILN_ASSERT_SIZE(kiln_buffer_spec, 40);
KILN_ASSERT_SIZE(kiln_import_args, 48);
KILN_ASSERT_SIZE(kiln_buffer_info, 56);
KILN_ASSERT_SIZE(kiln_state_in, 40);
KILN_ASSERT_SIZE(kiln_execute_args, 128);
KILN_ASSERT_SIZE(kiln_frame_io, 152);
KILN_ASSERT_SIZE(kiln_backend_api, 200);
KILN_ASSERT_SIZE(kiln_host_info, 88);
KILN_ASSERT_SIZE(kiln_backend_header, 128);
#undef KILN_ASSERT_SIZE

#ifdef __cplusplus
}
#endif

#endif /* KILN_BACKEND_H */
