/* Reads Kiln's module format: C99, without allocation and without other parts of Kiln. A plugin
 * includes it from the SDK, or copies it with kiln_module_cursor.h and kiln_module_ops.h. The page
 * module_format has the bytes. */
#ifndef KILN_MODULE_READER_H
#define KILN_MODULE_READER_H

#include "kiln_module_cursor.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KILN_MODULE_MAJOR = 0, KILN_MODULE_MINOR = 6 };

/* The number of an origin that is unknown, since an op with unknown attributes is before it. */
#define KILN_NO_ORIGIN UINT64_MAX
/* Lambdas in lambdas. Deeper ones are an error, so that recursion over them is limited. */
#define KILN_MAX_NESTING 64u

/* ---- Modules ---- */

/* Nodes, each after its operands, and what follows them at `at` once all are read. */
typedef struct kiln_region {
  kiln_cursor at;
  uint64_t count; /* of nodes */
  uint64_t next; /* number of the next node */
  uint64_t next_origin;
} kiln_region;

/* The parts of a module. Each cursor is at the first item of its list, after the count. */
typedef struct kiln_module {
  uint32_t major, minor; /* of the format */
  kiln_module_bytes producer, name;
  kiln_cursor symbols; /* of names */
  uint64_t symbol_count;
  kiln_cursor operations; /* of dims: for kiln_evaluate_operations */
  uint64_t operation_count;
  kiln_cursor types; /* for kiln_read_type */
  uint64_t type_count;
  /* After the nodes: inputs and outputs, a count and values each; then a count of updates, each
   * the value of the variable and its new value. */
  kiln_region graph;
  kiln_cursor states; /* kiln_read_part gives the attributes of the Variable node of each */
  uint64_t state_count;
  kiln_cursor guards; /* for kiln_read_guard */
  uint64_t guard_count;
  kiln_cursor origins; /* for kiln_find_origin; empty in modules without source lines */
  kiln_cursor constants; /* for kiln_read_bytes: the large ones, in files */
  uint64_t constant_count;
} kiln_module;

static inline uint64_t kiln_fixed_number(const unsigned char* at, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

/* Splits a module into its sections, and tests header and checksums. Returns the reason why it
 * cannot be read, or null. The bytes must outlive *module. */
static inline const char* kiln_module_open(kiln_module* module, const void* bytes, uint64_t size) {
  enum { kNames = 1, kTypes, kGraph, kStates, kGuards, kOrigins, kConstants, kSections };
  static const unsigned char kNone[1] = {0}; /* an empty list */
  const unsigned char* const start = (const unsigned char*)bytes;
  kiln_cursor sections[kSections];
  memset(module, 0, sizeof(*module));
  memset(sections, 0, sizeof(sections));
  if (size < 16 || memcmp(start, "KILNMODL", 8) != 0) return "it is not a module";
  module->major = (uint32_t)kiln_fixed_number(start + 8, 2);
  module->minor = (uint32_t)kiln_fixed_number(start + 10, 2);
  if (module->major != KILN_MODULE_MAJOR || module->minor != KILN_MODULE_MINOR) {
    return "it has another version of the format";
  }
  const uint64_t count = kiln_fixed_number(start + 12, 4);
  uint64_t offset = 16 + 28 * count;
  if (size < offset) return "its directory is truncated";
  for (uint64_t i = 0; i < count; ++i) {
    const unsigned char* const entry = start + 16 + 28 * i;
    const uint64_t id = kiln_fixed_number(entry, 4), length = kiln_fixed_number(entry + 12, 8);
    if (kiln_fixed_number(entry + 4, 8) != offset || length > size - offset) {
      return "a section is out of bounds";
    }
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (uint64_t k = 0; k < length; ++k) hash = (hash ^ start[offset + k]) * 0x100000001b3u;
    if (hash != kiln_fixed_number(entry + 20, 8)) return "a checksum is wrong";
    if (id > 0 && id < kSections) {
      if (sections[id].at != NULL) return "a section occurs twice";
      sections[id].at = start + offset;
      sections[id].end = start + offset + length;
    }
    offset += length;
  }
  if (offset != size) return "it has trailing bytes";
  for (int id = kNames; id <= kGuards; ++id) {
    if (sections[id].at == NULL) return "a section is missing";
  }
  if (sections[kConstants].at == NULL) {
    sections[kConstants].at = kNone;
    sections[kConstants].end = kNone + sizeof(kNone);
  }

  module->producer = kiln_read_bytes(&sections[kNames]);
  module->name = kiln_read_bytes(&sections[kNames]);
  module->symbol_count = kiln_read_count(&sections[kNames]);
  module->symbols = sections[kNames];
  module->operation_count = kiln_read_count(&sections[kTypes]);
  module->operations = sections[kTypes];
  for (uint64_t i = 0; i < module->operation_count; ++i) {
    kiln_read_number(&sections[kTypes]);
    kiln_read_dim(&sections[kTypes], NULL);
    kiln_read_dim(&sections[kTypes], NULL);
  }
  module->type_count = kiln_read_count(&sections[kTypes]);
  module->types = sections[kTypes];
  module->graph.count = kiln_read_count(&sections[kGraph]);
  module->graph.at = sections[kGraph];
  module->state_count = kiln_read_count(&sections[kStates]);
  module->states = sections[kStates];
  module->guard_count = kiln_read_count(&sections[kGuards]);
  module->guards = sections[kGuards];
  module->origins = sections[kOrigins];
  module->constant_count = kiln_read_count(&sections[kConstants]);
  module->constants = sections[kConstants];
  for (int id = kNames; id < kSections; ++id) {
    if (sections[id].error != NULL) return sections[id].error;
  }
  return NULL;
}

/* Computes one value per operation of dims from the values of the symbols. Returns the reason why
 * the operations cannot be read, or null. */
static inline const char* kiln_evaluate_operations(const kiln_module* module,
                                                   const int64_t* symbols, int64_t* operations) {
  kiln_cursor from = module->operations;
  kiln_dim_values values = {symbols, module->symbol_count, operations, 0};
  for (; values.operation_count < module->operation_count; ++values.operation_count) {
    enum { kFloorDiv = 1, kMod, kMax, kMin };
    const uint64_t op = kiln_read_number(&from);
    const int64_t left = kiln_read_dim(&from, &values), right = kiln_read_dim(&from, &values);
    const int is_known = left != KILN_DIM_UNKNOWN && right != KILN_DIM_UNKNOWN;
    int64_t value = KILN_DIM_UNKNOWN;
    if (op < kFloorDiv || op > kMin) kiln_fail(&from, "a dim has an unknown operation");
    if (from.error != NULL) return from.error;
    if (is_known && op == kMax) value = left > right ? left : right;
    if (is_known && op == kMin) value = left < right ? left : right;
    if (is_known && op <= kMod && right != 0) {
      const int64_t rest = left % right, rounds_up = rest != 0 && (rest < 0) != (right < 0);
      value = op == kMod ? rest + (rounds_up ? right : 0) : left / right - rounds_up;
    }
    operations[values.operation_count] = value;
  }
  return NULL;
}

/* ---- Nodes ---- */

typedef struct kiln_node {
  uint64_t number; /* in its region; in the graph the id by which the host knows the node */
  uint64_t code; /* KILN_OP_... */
  kiln_cursor attributes; /* the fields, in the order of kiln_find_op(code) */
  uint64_t operand_count;
  kiln_cursor operands; /* for kiln_read_value */
  uint64_t result_count;
  kiln_cursor types; /* for kiln_read_number: the type of each result in the table */
  uint64_t origin; /* for kiln_find_origin */
  uint64_t next_origin; /* of the lambda that kiln_read_lambda reads next */
} kiln_node;

/* The definition of an op; null for a code that this version lacks. */
static inline const kiln_op_format* kiln_find_op(uint64_t code) {
  for (size_t i = 0; i < sizeof(kiln_op_formats) / sizeof(kiln_op_formats[0]); ++i) {
    if (kiln_op_formats[i].code == code) return &kiln_op_formats[i];
  }
  return NULL;
}

/* The body of a scan, or a branch of a cond. */
typedef struct kiln_lambda {
  uint64_t parameter_count;
  kiln_cursor parameters; /* for kiln_read_type */
  /* After the nodes: a count and the values of the results, then a count of guards and the guards,
   * for kiln_read_guard. */
  kiln_region body;
} kiln_lambda;

static inline kiln_lambda kiln_open_lambda(kiln_cursor part, uint64_t first_origin) {
  kiln_lambda lambda;
  memset(&lambda, 0, sizeof(lambda));
  lambda.parameter_count = kiln_read_count(&part);
  lambda.parameters = part;
  for (uint64_t i = 0; i < lambda.parameter_count; ++i) kiln_read_type(&part);
  lambda.body.count = kiln_read_count(&part);
  lambda.body.at = part;
  lambda.body.next_origin = first_origin;
  return lambda;
}

static inline int kiln_next_node_at(kiln_region* region, kiln_node* node, unsigned nesting);

/* Reads a lambda: the number of the origin that follows those of its nodes. */
static inline uint64_t kiln_origin_after(kiln_cursor* from, uint64_t first_origin,
                                         unsigned nesting) {
  kiln_lambda lambda = kiln_open_lambda(kiln_read_part(from), first_origin);
  kiln_node node;
  if (nesting > KILN_MAX_NESTING) return kiln_fail(from, "lambdas are nested too deep");
  while (kiln_next_node_at(&lambda.body, &node, nesting)) {
  }
  if (lambda.body.at.error != NULL) kiln_fail(from, lambda.body.at.error);
  return lambda.body.next_origin;
}

static inline int kiln_next_node_at(kiln_region* region, kiln_node* node, unsigned nesting) {
  kiln_cursor* const from = &region->at;
  memset(node, 0, sizeof(*node));
  if (from->error != NULL || region->next == region->count) return 0;
  node->number = region->next++;
  node->code = kiln_read_number(from);
  node->attributes = kiln_read_part(from);
  node->operand_count = kiln_read_count(from);
  node->operands = *from;
  for (uint64_t i = 0; i < node->operand_count; ++i) {
    const kiln_module_value operand = kiln_read_value(from);
    if (operand.node >= node->number) kiln_fail(from, "a value is used before it is defined");
  }
  node->operands.end = from->at;
  node->result_count = kiln_read_count(from);
  node->types = *from;
  kiln_skip_numbers(from, node->result_count);
  node->types.end = from->at;

  /* Origins are in the order in which nodes end: those in lambdas first. */
  node->next_origin = node->origin = region->next_origin;
  const kiln_op_format* const op = kiln_find_op(node->code);
  kiln_cursor fields = node->attributes;
  if (op == NULL) node->origin = KILN_NO_ORIGIN;
  for (const kiln_field* field = op != NULL ? op->fields : NULL;
       field != NULL && field->name != NULL; ++field) {
    if (field->kind == KILN_FIELD_LAMBDA) {
      node->origin = kiln_origin_after(&fields, node->origin, nesting + 1);
    } else {
      kiln_skip_field(&fields, field->kind);
    }
  }
  if (fields.error != NULL) kiln_fail(from, fields.error);
  region->next_origin = node->origin == KILN_NO_ORIGIN ? KILN_NO_ORIGIN : node->origin + 1;
  return from->error == NULL;
}

/* Reads the next node of a region. 0: there is none, or region->at.error is set. */
static inline int kiln_next_node(kiln_region* region, kiln_node* node) {
  return kiln_next_node_at(region, node, 0);
}

/* Reads a lambda, the next of the node's attributes. */
static inline kiln_lambda kiln_read_lambda(kiln_node* node) {
  kiln_cursor part = node->attributes;
  const kiln_lambda lambda = kiln_open_lambda(kiln_read_part(&part), node->next_origin);
  node->next_origin = kiln_origin_after(&node->attributes, node->next_origin, 1);
  return lambda;
}

/* ---- Source lines and guards ---- */

/* The user's source line, and the K function that it calls. */
typedef struct kiln_origin {
  kiln_module_bytes file;
  uint64_t line; /* 0: unknown */
  kiln_module_bytes function;
  uint64_t scope; /* the innermost name scope, for kiln_find_scope; 0: none, as for a guard */
} kiln_origin;

/* A name scope, such as a layer, and the line that enters it. */
typedef struct kiln_scope {
  kiln_module_bytes name, file;
  uint64_t line; /* 0: unknown */
  uint64_t around; /* the scope around it; 0: none */
} kiln_scope;

static inline kiln_origin kiln_read_origin(kiln_cursor* from) {
  kiln_origin origin;
  origin.file = kiln_read_bytes(from);
  origin.line = kiln_read_number(from);
  origin.function = kiln_read_bytes(from);
  origin.scope = 0;
  return origin;
}

/* Reads the name scope at the end of the definition of an origin, with those that it is the first
 * to use: its number. Sets *found to scope `wanted` if that is one of them. */
static inline uint64_t kiln_read_scopes(kiln_cursor* from, uint64_t* defined, uint64_t wanted,
                                        kiln_scope* found) {
  uint64_t scope = kiln_read_number(from);
  const uint64_t added = kiln_read_count(from);
  if (scope > *defined) kiln_fail(from, "a name scope is not in the table");
  for (uint64_t i = 0; i < added && from->error == NULL; ++i) {
    kiln_scope one;
    one.name = kiln_read_bytes(from);
    one.file = kiln_read_bytes(from);
    one.line = kiln_read_number(from);
    one.around = scope;
    scope = ++*defined;
    if (scope == wanted && from->error == NULL) *found = one;
  }
  return scope;
}

/* The definitions of origins and name scopes, in the order of their numbers. */
typedef struct kiln_definitions {
  kiln_cursor from;
  uint64_t origins, scopes; /* read so far */
  kiln_scope scope; /* `wanted`, once it is read */
} kiln_definitions;

/* Reads up to the next definition of an origin. 0: there is none. */
static inline int kiln_next_definition(kiln_definitions* definitions, uint64_t wanted,
                                       kiln_origin* origin) {
  kiln_cursor* const from = &definitions->from;
  while (from->error == NULL && kiln_bytes_left(from) != 0) {
    if (kiln_read_number(from) != definitions->origins || from->error != NULL) continue;
    *origin = kiln_read_origin(from);
    origin->scope = kiln_read_scopes(from, &definitions->scopes, wanted, &definitions->scope);
    ++definitions->origins;
    return from->error == NULL;
  }
  return 0;
}

/* Finds the origin of a node by kiln_node.origin, in time linear in their number: for messages.
 * 0: it is unknown, and *origin is empty. */
static inline int kiln_find_origin(const kiln_module* module, uint64_t number,
                                   kiln_origin* origin) {
  uint64_t index = 0, i = 0;
  kiln_definitions definitions;
  kiln_origin defined;
  memset(origin, 0, sizeof(*origin));
  memset(&definitions, 0, sizeof(definitions));
  if (number == KILN_NO_ORIGIN) return 0;
  definitions.from = module->origins;
  for (; i <= number && definitions.from.error == NULL; ++i) {
    const kiln_cursor before = definitions.from;
    index = kiln_read_number(&definitions.from);
    if (index != definitions.origins || definitions.from.error != NULL) continue;
    definitions.from = before;
    kiln_next_definition(&definitions, 0, &defined);
  }
  if (definitions.from.error != NULL || index >= definitions.origins) return 0;
  memset(&definitions, 0, sizeof(definitions));
  definitions.from = module->origins;
  while (kiln_next_definition(&definitions, 0, &defined)) {
    if (definitions.origins != index + 1) continue;
    *origin = defined;
    return 1;
  }
  return 0;
}

/* Finds a name scope by its number, as kiln_find_origin. 0: there is none with it. */
static inline int kiln_find_scope(const kiln_module* module, uint64_t number, kiln_scope* scope) {
  kiln_definitions definitions;
  kiln_origin origin;
  memset(&definitions, 0, sizeof(definitions));
  definitions.from = module->origins;
  while (definitions.scopes < number && kiln_next_definition(&definitions, number, &origin)) {
  }
  *scope = definitions.scope;
  return number != 0 && definitions.scopes >= number;
}

/* A condition on sizes, which the host checks at each call, and a backend where a lambda has it,
 * whenever it is entered: the message is that of the error if it does not hold. */
typedef struct kiln_guard {
  uint64_t kind; /* 0: left == right; 1: left <= right */
  int64_t left, right;
  kiln_module_bytes message;
  kiln_origin origin;
} kiln_guard;

static inline kiln_guard kiln_read_guard(kiln_cursor* from, const kiln_dim_values* values) {
  kiln_guard guard;
  guard.kind = kiln_read_number(from);
  if (guard.kind > 1) kiln_fail(from, "a guard has an unknown kind");
  guard.left = kiln_read_dim(from, values);
  guard.right = kiln_read_dim(from, values);
  guard.message = kiln_read_bytes(from);
  guard.origin = kiln_read_origin(from);
  return guard;
}

#ifdef __cplusplus
}
#endif

#endif /* KILN_MODULE_READER_H */
