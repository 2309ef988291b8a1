/* Prints a module with the C reader alone. */
#include "tests/core/module/module_text.h"

#include "backends/abi/kiln_module_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct printer {
  const kiln_module* module;
  kiln_dim_values values;
  char* text;
  size_t size, capacity;
};

static void put_bytes(struct printer* out, const char* data, uint64_t size) {
  while (out->capacity - out->size <= size) {
    out->capacity = 2 * out->capacity + 64;
    out->text = realloc(out->text, out->capacity);
    if (out->text == NULL) abort();
  }
  if (size != 0) memcpy(out->text + out->size, data, size);
  out->size += size;
  out->text[out->size] = '\0';
}

static void put(struct printer* out, const char* format, ...) {
  char text[64];
  va_list list;
  va_start(list, format);
  const int size = vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  put_bytes(out, text, (uint64_t)size);
}

static void put_text(struct printer* out, kiln_module_bytes text) {
  put(out, "\"");
  put_bytes(out, text.data, text.size);
  put(out, "\"");
}

static void put_dim(struct printer* out, kiln_cursor* from) {
  const int64_t value = kiln_read_dim(from, &out->values);
  if (value == KILN_DIM_UNKNOWN) put(out, "?");
  else put(out, "%lld", (long long)value);
}

static void put_type(struct printer* out, kiln_module_type type) {
  put(out, "%llu[", (unsigned long long)type.dtype);
  for (uint64_t i = 0; i < type.rank; ++i) {
    if (i != 0) put(out, ",");
    put_dim(out, &type.dims);
  }
  put(out, "]");
}

static void put_numbered_type(struct printer* out, uint64_t number) {
  kiln_cursor types = out->module->types;
  for (uint64_t i = 0; i < number && types.error == NULL; ++i) kiln_read_type(&types);
  if (number < out->module->type_count) put_type(out, kiln_read_type(&types));
  else put(out, "no type");
}

static void put_origin(struct printer* out, kiln_origin origin) {
  kiln_scope scope;
  put(out, " ; ");
  put_text(out, origin.function);
  put(out, " ");
  put_text(out, origin.file);
  put(out, ":%llu", (unsigned long long)origin.line);
  for (uint64_t at = origin.scope; kiln_find_scope(out->module, at, &scope); at = scope.around) {
    put(out, " in ");
    put_text(out, scope.name);
    put(out, " ");
    put_text(out, scope.file);
    put(out, ":%llu", (unsigned long long)scope.line);
  }
}

static void put_values(struct printer* out, const char* word, kiln_cursor* from, uint64_t count) {
  put(out, "%s", word);
  for (uint64_t i = 0; i < count; ++i) {
    const kiln_module_value value = kiln_read_value(from);
    put(out, " %%%llu.%llu", (unsigned long long)value.node, (unsigned long long)value.result);
  }
}

static void put_guards(struct printer* out, kiln_cursor* from, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const kiln_guard guard = kiln_read_guard(from, &out->values);
    put(out, "guard %llu", (unsigned long long)guard.kind);
    put(out, guard.left == KILN_DIM_UNKNOWN ? " ?" : " %lld", (long long)guard.left);
    put(out, guard.right == KILN_DIM_UNKNOWN ? " ? " : " %lld ", (long long)guard.right);
    put_text(out, guard.message);
    put_origin(out, guard.origin);
    put(out, "\n");
  }
}

static void put_constant(struct printer* out, kiln_constant_data data) {
  if (data.is_beside) put(out, "@%llu", (unsigned long long)data.index);
  for (uint64_t i = 0; i < data.bytes.size; ++i) put(out, "%02x", data.bytes.data[i] & 0xff);
}

static const char* put_nodes(struct printer* out, kiln_region* region);

static const char* put_lambda(struct printer* out, kiln_node* node) {
  kiln_lambda lambda = kiln_read_lambda(node);
  kiln_cursor* const from = &lambda.body.at;
  put(out, "{\nparameters");
  for (uint64_t i = 0; i < lambda.parameter_count; ++i) {
    put(out, " ");
    put_type(out, kiln_read_type(&lambda.parameters));
  }
  put(out, "\n");
  const char* const error = put_nodes(out, &lambda.body);
  put_values(out, "results", from, kiln_read_count(from));
  put(out, "\n");
  put_guards(out, from, kiln_read_count(from));
  put(out, "}");
  return error != NULL ? error : from->error;
}

static void put_field(struct printer* out, kiln_cursor* from, kiln_field_kind kind) {
  switch (kind) {
    case KILN_FIELD_INTEGER: put(out, "%lld", (long long)kiln_read_integer(from)); return;
    case KILN_FIELD_BOOL:
    case KILN_FIELD_DTYPE: put(out, "%llu", (unsigned long long)kiln_read_number(from)); return;
    case KILN_FIELD_TEXT: put_text(out, kiln_read_bytes(from)); return;
    case KILN_FIELD_TYPE: put_type(out, kiln_read_type(from)); return;
    case KILN_FIELD_DIM: put_dim(out, from); return;
    case KILN_FIELD_CONSTANT: put_constant(out, kiln_read_constant(from)); return;
    default: break;
  }
  const uint64_t count = kiln_read_count(from);
  put(out, "[");
  for (uint64_t i = 0; i < count; ++i) {
    if (i != 0) put(out, ",");
    put_field(out, from,
              kind == KILN_FIELD_INTEGERS ? KILN_FIELD_INTEGER
              : kind == KILN_FIELD_DIMS   ? KILN_FIELD_DIM
                                          : KILN_FIELD_TYPE);
  }
  put(out, "]");
}

static const char* put_nodes(struct printer* out, kiln_region* region) {
  kiln_node node;
  while (kiln_next_node(region, &node)) {
    const kiln_op_format* const op = kiln_find_op(node.code);
    kiln_origin origin;
    put(out, "%%%llu = ", (unsigned long long)node.number);
    if (op == NULL) put(out, "op %llu", (unsigned long long)node.code);
    else put(out, "%s", op->name);
    for (const kiln_field* field = op != NULL ? op->fields : NULL;
         field != NULL && field->name != NULL; ++field) {
      put(out, " %s=", field->name);
      if (field->kind == KILN_FIELD_LAMBDA) {
        const char* const error = put_lambda(out, &node);
        if (error != NULL) return error;
      } else {
        put_field(out, &node.attributes, field->kind);
      }
    }
    if (node.attributes.error != NULL) return node.attributes.error;
    if (op != NULL && kiln_bytes_left(&node.attributes) != 0) return "attributes are left";
    put_values(out, "", &node.operands, node.operand_count);
    put(out, " :");
    for (uint64_t i = 0; i < node.result_count; ++i) {
      put(out, " ");
      put_numbered_type(out, kiln_read_number(&node.types));
    }
    kiln_find_origin(out->module, node.origin, &origin);
    put_origin(out, origin);
    put(out, "\n");
  }
  return region->at.error;
}

static const char* put_graph(struct printer* out) {
  kiln_region graph = out->module->graph;
  const char* const error = put_nodes(out, &graph);
  put_values(out, "inputs", &graph.at, kiln_read_count(&graph.at));
  put_values(out, "\noutputs", &graph.at, kiln_read_count(&graph.at));
  put_values(out, "\nupdates", &graph.at, 2 * kiln_read_count(&graph.at));
  put(out, "\n");
  return error != NULL ? error : graph.at.error;
}

static const char* put_states(struct printer* out) {
  kiln_cursor states = out->module->states;
  for (uint64_t i = 0; i < out->module->state_count; ++i) {
    kiln_cursor fields = kiln_read_part(&states);
    put(out, "state %lld ", (long long)kiln_read_integer(&fields));
    put_text(out, kiln_read_bytes(&fields));
    put(out, " ");
    put_type(out, kiln_read_type(&fields));
    put(out, "\n");
    if (fields.error != NULL) return fields.error;
  }
  return states.error;
}

static const char* put_module(struct printer* out) {
  const char* error;
  kiln_cursor guards = out->module->guards;
  put_text(out, out->module->name);
  put(out, "\n");
  if ((error = put_graph(out)) != NULL) return error;
  if ((error = put_states(out)) != NULL) return error;
  put_guards(out, &guards, out->module->guard_count);
  return guards.error;
}

int64_t module_text_symbol(const char* name, uint64_t size) {
  uint64_t hash = 0;
  for (uint64_t i = 0; i < size; ++i) hash = hash * 31 + (unsigned char)name[i];
  return (int64_t)(3 + hash % 11);
}

char* module_text_in_c(const void* bytes, size_t size, const char** error) {
  kiln_module module;
  struct printer out;
  memset(&out, 0, sizeof(out));
  *error = kiln_module_open(&module, bytes, size);
  if (*error != NULL) return NULL;
  int64_t* const symbols = calloc(module.symbol_count + 1, sizeof(int64_t));
  int64_t* const operations = calloc(module.operation_count + 1, sizeof(int64_t));
  if (symbols == NULL || operations == NULL) abort();
  kiln_cursor names = module.symbols;
  for (uint64_t i = 0; i < module.symbol_count; ++i) {
    const kiln_module_bytes name = kiln_read_bytes(&names);
    symbols[i] = module_text_symbol(name.data, name.size);
  }
  out.module = &module;
  out.values.symbols = symbols;
  out.values.symbol_count = module.symbol_count;
  out.values.operations = operations;
  out.values.operation_count = module.operation_count;
  *error =
      names.error != NULL ? names.error : kiln_evaluate_operations(&module, symbols, operations);
  if (*error == NULL) *error = put_module(&out);
  free(symbols);
  free(operations);
  if (*error == NULL) return out.text;
  free(out.text);
  return NULL;
}
