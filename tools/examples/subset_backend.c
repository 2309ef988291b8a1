/* A backend in C99 that reads modules with the SDK's reader: it runs sums, products, broadcasts and
 * matmuls of float32, with inputs, variables and updates, and reports every other node. It
 * interprets the module at each call. */
#include <kiln/backend/kiln_backend.h>
#include <kiln/backend/kiln_module_reader.h>
#include <stdio.h>
#include <stdlib.h>

struct kiln_error {
  uint32_t code;
  const char* message;
};
struct kiln_instance {
  int nothing;
};
struct kiln_executable {
  uint64_t size;
  unsigned char module[];
};
struct kiln_buffer {
  int64_t dims[KILN_MAX_RANK];
  uint64_t rank, count;
  float* data;
};

static struct kiln_error no_memory = {KILN_CODE_RESOURCE_EXHAUSTED, "no memory"};
static struct kiln_error unreadable = {KILN_CODE_INVALID_ARGUMENT, "the module cannot be read"};
static struct kiln_error unsupported = {KILN_CODE_UNIMPLEMENTED, "the module has other nodes"};
static struct kiln_error other_dtype = {KILN_CODE_UNIMPLEMENTED, "only float32 is supported"};
static struct kiln_instance only = {0};

static kiln_string string_of(const char* text) {
  const kiln_string string = {text, strlen(text)};
  return string;
}

static void error_read(const kiln_error* error, kiln_error_info* info) {
  info->code = error->code;
  info->message = string_of(error->message);
}
static void error_destroy(kiln_error* error) { (void)error; }

static kiln_error* create(const kiln_instance_args* args, kiln_instance** instance) {
  (void)args;
  *instance = &only;
  return NULL;
}
static void destroy(kiln_instance* instance) { (void)instance; }

/* ---- Buffers ---- */

static void buffer_destroy(kiln_buffer* buffer) {
  if (buffer != NULL) free(buffer->data);
  free(buffer);
}

/* Null: no memory, or too many dims. */
static kiln_buffer* make_buffer(const int64_t* dims, uint64_t rank) {
  kiln_buffer* const buffer = rank <= KILN_MAX_RANK ? calloc(1, sizeof(*buffer)) : NULL;
  if (buffer == NULL) return NULL;
  buffer->rank = rank;
  buffer->count = 1;
  for (uint64_t i = 0; i < rank; ++i) {
    buffer->dims[i] = dims[i];
    if (__builtin_mul_overflow(buffer->count, (uint64_t)dims[i], &buffer->count)) {
      free(buffer);
      return NULL;
    }
  }
  buffer->data = calloc(buffer->count + 1, sizeof(float));
  if (buffer->data != NULL) return buffer;
  free(buffer);
  return NULL;
}

static kiln_error* allocate(kiln_instance* instance, const kiln_buffer_spec* spec,
                            kiln_buffer** buffer) {
  (void)instance;
  if (spec->dtype != KILN_DTYPE_FLOAT32) return &other_dtype;
  *buffer = make_buffer(spec->dims.data, spec->dims.rank);
  return *buffer != NULL ? NULL : &no_memory;
}
static kiln_error* import_host(kiln_instance* instance, const kiln_import_args* args,
                               kiln_buffer** buffer) {
  (void)instance;
  if (args->dtype != KILN_DTYPE_FLOAT32) return &other_dtype;
  kiln_buffer* const made = make_buffer(args->dims.data, args->dims.rank);
  if (made == NULL) return &no_memory;
  if (made->count != 0) memcpy(made->data, args->data, made->count * sizeof(float));
  *buffer = made;
  return NULL;
}
static kiln_error* copy_to_host(const kiln_buffer* buffer, void* destination, uint64_t capacity,
                                uint64_t* size) {
  (void)capacity; /* the host gives buffer_info's size */
  *size = buffer->count * sizeof(float);
  if (destination != NULL) memcpy(destination, buffer->data, *size);
  return NULL;
}
static kiln_error* buffer_info(const kiln_buffer* buffer, kiln_buffer_info* info) {
  info->dims.data = buffer->dims;
  info->dims.rank = buffer->rank;
  info->dtype = KILN_DTYPE_FLOAT32;
  info->size = buffer->count * sizeof(float);
  info->host_data = buffer->data;
  return NULL;
}

/* ---- Reading the program ---- */

/* The type of the node's first result; of no dtype where there is none. */
static kiln_module_type type_of(const kiln_module* module, kiln_node node) {
  const uint64_t number = kiln_read_number(&node.types);
  kiln_cursor types = module->types;
  kiln_module_type type = {UINT64_MAX, 0, {NULL, NULL, NULL}};
  if (number >= module->type_count) return type;
  for (uint64_t i = 0; i <= number; ++i) type = kiln_read_type(&types);
  return type;
}

static int has_labels(kiln_cursor* from, int64_t first, int64_t second) {
  return kiln_read_count(from) == 2 && kiln_read_integer(from) == first &&
         kiln_read_integer(from) == second;
}

/* The reason why the node cannot run, or null. */
static const char* reason_against(const kiln_module* module, kiln_node node) {
  kiln_cursor* const fields = &node.attributes;
  switch (node.code) {
    case KILN_OP_PLACEHOLDER:
    case KILN_OP_VARIABLE:
    case KILN_OP_ADD:
    case KILN_OP_MUL:
    case KILN_OP_BROADCAST: break;
    case KILN_OP_CONSTANT:
      kiln_read_type(fields);
      if (!kiln_read_constant(fields).is_beside) break;
      return "only constants of at most 4096 bytes are supported";
    case KILN_OP_DOT:
      if (has_labels(fields, 0, 1) && has_labels(fields, 1, 2) && has_labels(fields, 0, 2)) break;
      return "only the product of two matrices is supported";
    default: return "the op is not supported";
  }
  return type_of(module, node).dtype == KILN_DTYPE_FLOAT32 ? NULL : "only float32 is supported";
}

static kiln_error* check(kiln_instance* instance, const kiln_check_args* args) {
  kiln_module module;
  kiln_node node;
  (void)instance;
  if (kiln_module_open(&module, args->module.data, args->module.size) != NULL) return &unreadable;
  while (kiln_next_node(&module.graph, &node)) {
    const char* const reason = reason_against(&module, node);
    if (reason == NULL) continue;
    const kiln_op_format* const op = kiln_find_op(node.code);
    kiln_origin origin;
    char code[32], location[256];
    snprintf(code, sizeof(code), "op %llu", (unsigned long long)node.code);
    kiln_unsupported report = {.struct_size = sizeof(report), .node = node.number};
    report.op = string_of(op != NULL ? op->name : code);
    report.reason = string_of(reason);
    if (kiln_find_origin(&module, node.origin, &origin)) {
      const int size = origin.file.size < 200 ? (int)origin.file.size : 200;
      snprintf(location, sizeof(location), "%.*s:%llu", size, origin.file.data,
               (unsigned long long)origin.line);
      report.location = string_of(location);
    }
    args->on_unsupported(args->context, &report);
  }
  return module.graph.at.error == NULL ? NULL : &unreadable;
}

static void count_node(void* context, const kiln_unsupported* node) {
  (void)node;
  ++*(int*)context;
}

static kiln_error* compile(kiln_instance* instance, const kiln_compile_args* args,
                           kiln_executable** executable) {
  int rejected = 0;
  const kiln_check_args checked = {.struct_size = sizeof(checked),
                                   .module = args->module,
                                   .on_unsupported = count_node,
                                   .context = &rejected};
  kiln_error* const error = check(instance, &checked);
  if (error != NULL) return error;
  if (rejected != 0) return &unsupported;
  *executable = malloc(sizeof(kiln_executable) + args->module.size);
  if (*executable == NULL) return &no_memory;
  (*executable)->size = args->module.size;
  memcpy((*executable)->module, args->module.data, args->module.size);
  return NULL;
}
static kiln_error* executable_info(const kiln_executable* executable, kiln_executable_info* info) {
  (void)executable;
  (void)info; /* counts of 0 are not compared with the module's */
  return NULL;
}
static void executable_destroy(kiln_executable* executable) { free(executable); }

/* ---- Running it ---- */

/* One call. `results` has the result of each node; those of placeholders and variables belong to
 * the host. */
struct run {
  const kiln_execute_args* args;
  kiln_module module;
  int64_t* sizes; /* of the symbols, then of the operations of dims */
  kiln_dim_values values;
  kiln_buffer** results;
};

static kiln_buffer* state_of(const struct run* run, kiln_node node) {
  const int64_t id = kiln_read_integer(&node.attributes);
  kiln_cursor states = run->module.states;
  for (uint64_t i = 0; i < run->args->states.count; ++i) {
    kiln_cursor fields = kiln_read_part(&states);
    const char* const state =
        (const char*)run->args->states.data + i * run->args->states.element_stride;
    if (kiln_read_integer(&fields) == id) return ((const kiln_state_in*)(const void*)state)->buffer;
  }
  return NULL;
}

static void multiply(const kiln_buffer* lhs, const kiln_buffer* rhs, kiln_buffer* result) {
  const int64_t m = lhs->dims[0], k = lhs->dims[1], n = rhs->dims[1];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += lhs->data[i * k + p] * rhs->data[p * n + j];
      result->data[i * n + j] = sum;
    }
  }
}

/* Operand axis i is result axis axes[i]; where its dim is 1, its one entry is repeated. */
static void broadcast(const kiln_buffer* from, kiln_cursor fields, kiln_buffer* result) {
  int64_t strides[KILN_MAX_RANK] = {0}; /* of each result axis in the operand */
  int64_t axes[KILN_MAX_RANK], stride = 1;
  const uint64_t dims = kiln_read_count(&fields);
  for (uint64_t i = 0; i < dims; ++i) kiln_read_dim(&fields, NULL);
  const uint64_t rank = kiln_read_count(&fields); /* from->rank, by the op's type rule */
  for (uint64_t i = 0; i < rank && i < KILN_MAX_RANK; ++i) axes[i] = kiln_read_integer(&fields);
  for (uint64_t i = from->rank; i-- > 0;) {
    strides[axes[i]] = from->dims[i] == 1 ? 0 : stride;
    stride *= from->dims[i];
  }
  for (uint64_t i = 0; i < result->count; ++i) {
    int64_t rest = (int64_t)i, at = 0;
    for (uint64_t axis = result->rank; axis-- > 0;) {
      at += rest % result->dims[axis] * strides[axis];
      rest /= result->dims[axis];
    }
    result->data[i] = from->data[at];
  }
}

/* Computes a node that is neither a placeholder nor a variable. */
static kiln_error* compute(struct run* run, kiln_node node) {
  kiln_module_type type = type_of(&run->module, node);
  int64_t dims[KILN_MAX_RANK];
  const kiln_buffer* operands[2] = {NULL, NULL};
  if (type.rank > KILN_MAX_RANK || node.operand_count > 2) return &unreadable;
  for (uint64_t i = 0; i < type.rank; ++i) {
    dims[i] = kiln_read_dim(&type.dims, &run->values);
    if (dims[i] < 0) return &unreadable;
  }
  for (uint64_t i = 0; i < node.operand_count; ++i) {
    operands[i] = run->results[kiln_read_value(&node.operands).node];
  }
  kiln_buffer* const result = make_buffer(dims, type.rank);
  if (result == NULL) return &no_memory;
  run->results[node.number] = result;
  const float* const lhs = operands[0] != NULL ? operands[0]->data : NULL;
  const float* const rhs = operands[1] != NULL ? operands[1]->data : NULL;
  switch (node.code) {
    case KILN_OP_CONSTANT:
      kiln_read_type(&node.attributes);
      memcpy(result->data, kiln_read_constant(&node.attributes).bytes.data,
             result->count * sizeof(float));
      break;
    case KILN_OP_BROADCAST: broadcast(operands[0], node.attributes, result); break;
    case KILN_OP_DOT: multiply(operands[0], operands[1], result); break;
    case KILN_OP_ADD:
      for (uint64_t i = 0; i < result->count; ++i) result->data[i] = lhs[i] + rhs[i];
      break;
    default:
      for (uint64_t i = 0; i < result->count; ++i) result->data[i] = lhs[i] * rhs[i];
  }
  return NULL;
}

/* Binds the symbols to the sizes of the inputs, whose nodes get their buffers. `lists`: after the
 * nodes. */
static kiln_error* bind_inputs(struct run* run, kiln_cursor* lists) {
  const uint64_t inputs = kiln_read_count(lists);
  int64_t* const symbols = run->sizes;
  for (uint64_t i = 0; i < inputs && i < run->args->input_count; ++i) {
    const kiln_module_value input = kiln_read_value(lists);
    kiln_buffer* const buffer = run->args->inputs[i];
    kiln_region graph = run->module.graph;
    kiln_node node;
    while (kiln_next_node(&graph, &node) && node.number != input.node) {
    }
    const kiln_module_type type = type_of(&run->module, node);
    if (type.rank != buffer->rank) return &unreadable;
    kiln_bind_symbols(type, buffer->dims, symbols, run->module.symbol_count);
    run->results[input.node] = buffer;
  }
  return kiln_evaluate_operations(&run->module, symbols, symbols + run->module.symbol_count) == NULL
             ? NULL
             : &unreadable;
}

/* Copies a result to a buffer of the host, or to a new one. */
static kiln_error* give(const kiln_buffer* result, kiln_buffer** to) {
  if (*to == NULL) *to = make_buffer(result->dims, result->rank);
  if (*to == NULL) return &no_memory;
  memcpy((*to)->data, result->data, result->count * sizeof(float));
  return NULL;
}

static kiln_error* give_results(struct run* run, kiln_cursor* lists) {
  kiln_error* error = NULL;
  const uint64_t outputs = kiln_read_count(lists);
  for (uint64_t i = 0; i < outputs && error == NULL; ++i) {
    error = give(run->results[kiln_read_value(lists).node], &run->args->outputs[i]);
  }
  const uint64_t updates = kiln_read_count(lists);
  for (uint64_t i = 0; i < updates && error == NULL; ++i) {
    kiln_read_value(lists); /* the variable */
    error = give(run->results[kiln_read_value(lists).node], &run->args->state_out[i]);
  }
  return error;
}

static kiln_error* run_nodes(struct run* run) {
  kiln_region graph = run->module.graph;
  kiln_node node;
  while (kiln_next_node(&graph, &node)) {
  }
  kiln_cursor lists = graph.at;
  kiln_error* error = bind_inputs(run, &lists);
  graph = run->module.graph;
  while (error == NULL && kiln_next_node(&graph, &node)) {
    if (node.code == KILN_OP_PLACEHOLDER) continue;
    if (node.code == KILN_OP_VARIABLE) run->results[node.number] = state_of(run, node);
    else error = compute(run, node);
  }
  return error != NULL ? error : give_results(run, &lists);
}

static void free_results(struct run* run) {
  kiln_region graph = run->module.graph;
  kiln_node node;
  while (kiln_next_node(&graph, &node)) {
    const int is_hosts = node.code == KILN_OP_PLACEHOLDER || node.code == KILN_OP_VARIABLE;
    if (!is_hosts) buffer_destroy(run->results[node.number]);
  }
}

/* Destroys what a call that fails has allocated. */
static void take_back(kiln_buffer** results, const uint8_t* was_null, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!was_null[i]) continue;
    buffer_destroy(results[i]);
    results[i] = NULL;
  }
}

static kiln_error* execute(const kiln_executable* executable, const kiln_execute_args* args,
                           kiln_event** event) {
  struct run run = {.args = args};
  kiln_module* const module = &run.module;
  (void)event;
  kiln_module_open(module, executable->module, executable->size);
  const uint64_t sizes = module->symbol_count + module->operation_count;
  const uint64_t given = args->output_count + args->update_count;
  run.sizes = calloc(sizes + 1, sizeof(int64_t));
  run.results = calloc(module->graph.count + 1, sizeof(kiln_buffer*));
  uint8_t* const was_null = calloc(given + 1, 1);
  kiln_error* error = &no_memory;
  if (run.sizes != NULL && run.results != NULL && was_null != NULL) {
    for (uint64_t i = 0; i < sizes; ++i) run.sizes[i] = KILN_DIM_UNKNOWN;
    run.values.symbols = run.sizes;
    run.values.symbol_count = module->symbol_count;
    run.values.operations = run.sizes + module->symbol_count;
    run.values.operation_count = module->operation_count;
    for (uint64_t i = 0; i < given; ++i) {
      was_null[i] = i < args->output_count ? args->outputs[i] == NULL
                                           : args->state_out[i - args->output_count] == NULL;
    }
    error = run_nodes(&run);
    if (error != NULL) {
      take_back(args->outputs, was_null, args->output_count);
      take_back(args->state_out, was_null + args->output_count, args->update_count);
    }
    free_results(&run);
  }
  free(run.sizes);
  free(run.results);
  free(was_null);
  return error;
}

static kiln_error* event_wait(kiln_event* event, uint64_t nanoseconds, uint32_t* done) {
  (void)event; /* there are none: execute is complete on return */
  (void)nanoseconds;
  *done = 1;
  return NULL;
}
static void event_destroy(kiln_event* event) { (void)event; }

/* ---- The entry ---- */

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER KILN_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER KILN_SANITIZER_THREAD
#else
#define SANITIZER KILN_SANITIZER_NONE
#endif

static const kiln_backend_api kApi = {.struct_size = sizeof(kApi),
                                      .error_read = error_read,
                                      .error_destroy = error_destroy,
                                      .instance_create = create,
                                      .instance_destroy = destroy,
                                      .check = check,
                                      .compile = compile,
                                      .executable_info = executable_info,
                                      .executable_destroy = executable_destroy,
                                      .buffer_allocate = allocate,
                                      .buffer_import_host = import_host,
                                      .buffer_copy_to_host = copy_to_host,
                                      .buffer_info = buffer_info,
                                      .buffer_destroy = buffer_destroy,
                                      .execute = execute,
                                      .event_wait = event_wait,
                                      .event_destroy = event_destroy};

static const kiln_backend_header kHeader = {.struct_size = sizeof(kHeader),
                                            .magic = KILN_BACKEND_MAGIC,
                                            .abi_major = KILN_ABI_MAJOR,
                                            .abi_minor_lowest = KILN_ABI_MINOR,
                                            .abi_minor_highest = KILN_ABI_MINOR,
                                            .sanitizer = SANITIZER,
                                            .name = {"subset", 6},
                                            .version = {"1", 1},
                                            .build_id = {"1", 1},
                                            .required_api_size = sizeof(kApi),
                                            .api = &kApi};

uint32_t kiln_backend_query(const kiln_host_info* host, const kiln_backend_header** header) {
  (void)host;
  *header = &kHeader;
  return KILN_CODE_OK;
}
