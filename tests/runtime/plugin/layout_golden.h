/* The golden layout of ABI 0.1: every struct of kiln_backend.h with its size, every field with its
 * offset and size, on 64-bit machines. Lines are added at the end of a struct or of the file when
 * the boundary grows; a line that is here never changes within the major version. Read by
 * layouts_test.cpp and by layout_c99.c. */
#ifndef KILN_TESTS_PLUGIN_LAYOUT_GOLDEN_H
#define KILN_TESTS_PLUGIN_LAYOUT_GOLDEN_H

#define KILN_GOLDEN_LAYOUT(STRUCT, FIELD)               \
  STRUCT(kiln_string, 16)                               \
  FIELD(kiln_string, data, 0, 8)                        \
  FIELD(kiln_string, size, 8, 8)                        \
  STRUCT(kiln_bytes, 16)                                \
  FIELD(kiln_bytes, data, 0, 8)                         \
  FIELD(kiln_bytes, size, 8, 8)                         \
  STRUCT(kiln_dims, 16)                                 \
  FIELD(kiln_dims, data, 0, 8)                          \
  FIELD(kiln_dims, rank, 8, 8)                          \
  STRUCT(kiln_array, 24)                                \
  FIELD(kiln_array, data, 0, 8)                         \
  FIELD(kiln_array, count, 8, 8)                        \
  FIELD(kiln_array, element_stride, 16, 8)              \
  STRUCT(kiln_ext, 32)                                  \
  FIELD(kiln_ext, struct_size, 0, 8)                    \
  FIELD(kiln_ext, next, 8, 8)                           \
  FIELD(kiln_ext, type_id, 16, 8)                       \
  FIELD(kiln_ext, must_understand, 24, 4)               \
  FIELD(kiln_ext, reserved, 28, 4)                      \
  STRUCT(kiln_option, 48)                               \
  FIELD(kiln_option, struct_size, 0, 8)                 \
  FIELD(kiln_option, next, 8, 8)                        \
  FIELD(kiln_option, key, 16, 16)                       \
  FIELD(kiln_option, value, 32, 16)                     \
  STRUCT(kiln_view, 48)                                 \
  FIELD(kiln_view, struct_size, 0, 8)                   \
  FIELD(kiln_view, next, 8, 8)                          \
  FIELD(kiln_view, data, 16, 8)                         \
  FIELD(kiln_view, dims, 24, 16)                        \
  FIELD(kiln_view, dtype, 40, 4)                        \
  FIELD(kiln_view, reserved, 44, 4)                     \
  STRUCT(kiln_dump_args, 104)                           \
  FIELD(kiln_dump_args, struct_size, 0, 8)              \
  FIELD(kiln_dump_args, next, 8, 8)                     \
  FIELD(kiln_dump_args, label, 16, 16)                  \
  FIELD(kiln_dump_args, stage, 32, 16)                  \
  FIELD(kiln_dump_args, name, 48, 16)                   \
  FIELD(kiln_dump_args, media_type, 64, 16)             \
  FIELD(kiln_dump_args, bytes, 80, 16)                  \
  FIELD(kiln_dump_args, ordinal, 96, 8)                 \
  STRUCT(kiln_host_call_args, 112)                      \
  FIELD(kiln_host_call_args, struct_size, 0, 8)         \
  FIELD(kiln_host_call_args, next, 8, 8)                \
  FIELD(kiln_host_call_args, name, 16, 16)              \
  FIELD(kiln_host_call_args, payload, 32, 16)           \
  FIELD(kiln_host_call_args, inputs, 48, 24)            \
  FIELD(kiln_host_call_args, outputs, 72, 24)           \
  FIELD(kiln_host_call_args, error_text, 96, 8)         \
  FIELD(kiln_host_call_args, error_capacity, 104, 8)    \
  STRUCT(kiln_host_api, 72)                             \
  FIELD(kiln_host_api, struct_size, 0, 8)               \
  FIELD(kiln_host_api, next, 8, 8)                      \
  FIELD(kiln_host_api, log, 16, 8)                      \
  FIELD(kiln_host_api, log_enabled, 24, 8)              \
  FIELD(kiln_host_api, dump_wanted, 32, 8)              \
  FIELD(kiln_host_api, dump, 40, 8)                     \
  FIELD(kiln_host_api, thread_count, 48, 8)             \
  FIELD(kiln_host_api, parallel_for, 56, 8)             \
  FIELD(kiln_host_api, host_call, 64, 8)                \
  STRUCT(kiln_error_info, 128)                          \
  FIELD(kiln_error_info, struct_size, 0, 8)             \
  FIELD(kiln_error_info, next, 8, 8)                    \
  FIELD(kiln_error_info, code, 16, 4)                   \
  FIELD(kiln_error_info, retryable, 20, 4)              \
  FIELD(kiln_error_info, message, 24, 16)               \
  FIELD(kiln_error_info, location, 40, 16)              \
  FIELD(kiln_error_info, native_library, 56, 16)        \
  FIELD(kiln_error_info, native_code, 72, 8)            \
  FIELD(kiln_error_info, nodes, 80, 8)                  \
  FIELD(kiln_error_info, node_count, 88, 8)             \
  FIELD(kiln_error_info, details, 96, 24)               \
  FIELD(kiln_error_info, cause, 120, 8)                 \
  STRUCT(kiln_probe_args, 64)                           \
  FIELD(kiln_probe_args, struct_size, 0, 8)             \
  FIELD(kiln_probe_args, next, 8, 8)                    \
  FIELD(kiln_probe_args, options, 16, 24)               \
  FIELD(kiln_probe_args, on_detail, 40, 8)              \
  FIELD(kiln_probe_args, on_reason, 48, 8)              \
  FIELD(kiln_probe_args, text_context, 56, 8)           \
  STRUCT(kiln_probe_result, 24)                         \
  FIELD(kiln_probe_result, struct_size, 0, 8)           \
  FIELD(kiln_probe_result, next, 8, 8)                  \
  FIELD(kiln_probe_result, score, 16, 4)                \
  FIELD(kiln_probe_result, reserved, 20, 4)             \
  STRUCT(kiln_instance_args, 56)                        \
  FIELD(kiln_instance_args, struct_size, 0, 8)          \
  FIELD(kiln_instance_args, next, 8, 8)                 \
  FIELD(kiln_instance_args, options, 16, 24)            \
  FIELD(kiln_instance_args, host, 40, 8)                \
  FIELD(kiln_instance_args, host_context, 48, 8)        \
  STRUCT(kiln_op_support, 64)                           \
  FIELD(kiln_op_support, struct_size, 0, 8)             \
  FIELD(kiln_op_support, next, 8, 8)                    \
  FIELD(kiln_op_support, name, 16, 16)                  \
  FIELD(kiln_op_support, version_lowest, 32, 4)         \
  FIELD(kiln_op_support, version_highest, 36, 4)        \
  FIELD(kiln_op_support, digest, 40, 8)                 \
  FIELD(kiln_op_support, dtypes, 48, 8)                 \
  FIELD(kiln_op_support, flags, 56, 8)                  \
  STRUCT(kiln_unsupported, 72)                          \
  FIELD(kiln_unsupported, struct_size, 0, 8)            \
  FIELD(kiln_unsupported, next, 8, 8)                   \
  FIELD(kiln_unsupported, node, 16, 8)                  \
  FIELD(kiln_unsupported, op, 24, 16)                   \
  FIELD(kiln_unsupported, reason, 40, 16)               \
  FIELD(kiln_unsupported, location, 56, 16)             \
  STRUCT(kiln_check_args, 48)                           \
  FIELD(kiln_check_args, struct_size, 0, 8)             \
  FIELD(kiln_check_args, next, 8, 8)                    \
  FIELD(kiln_check_args, module, 16, 16)                \
  FIELD(kiln_check_args, on_unsupported, 32, 8)         \
  FIELD(kiln_check_args, context, 40, 8)                \
  STRUCT(kiln_constant, 32)                             \
  FIELD(kiln_constant, struct_size, 0, 8)               \
  FIELD(kiln_constant, next, 8, 8)                      \
  FIELD(kiln_constant, bytes, 16, 16)                   \
  STRUCT(kiln_compile_args, 96)                         \
  FIELD(kiln_compile_args, struct_size, 0, 8)           \
  FIELD(kiln_compile_args, next, 8, 8)                  \
  FIELD(kiln_compile_args, module, 16, 16)              \
  FIELD(kiln_compile_args, constants, 32, 24)           \
  FIELD(kiln_compile_args, options, 56, 24)             \
  FIELD(kiln_compile_args, label, 80, 16)               \
  STRUCT(kiln_message, 40)                              \
  FIELD(kiln_message, struct_size, 0, 8)                \
  FIELD(kiln_message, next, 8, 8)                       \
  FIELD(kiln_message, level, 16, 4)                     \
  FIELD(kiln_message, reserved, 20, 4)                  \
  FIELD(kiln_message, text, 24, 16)                     \
  STRUCT(kiln_executable_info, 136)                     \
  FIELD(kiln_executable_info, struct_size, 0, 8)        \
  FIELD(kiln_executable_info, next, 8, 8)               \
  FIELD(kiln_executable_info, inputs, 16, 8)            \
  FIELD(kiln_executable_info, states, 24, 8)            \
  FIELD(kiln_executable_info, outputs, 32, 8)           \
  FIELD(kiln_executable_info, updates, 40, 8)           \
  FIELD(kiln_executable_info, messages, 48, 24)         \
  FIELD(kiln_executable_info, code_generations, 72, 8)  \
  FIELD(kiln_executable_info, bindings, 80, 8)          \
  FIELD(kiln_executable_info, planned_bytes, 88, 8)     \
  FIELD(kiln_executable_info, live_bytes, 96, 8)        \
  FIELD(kiln_executable_info, updates_in_place, 104, 8) \
  FIELD(kiln_executable_info, target, 112, 16)          \
  FIELD(kiln_executable_info, runs_collectives, 128, 4) \
  FIELD(kiln_executable_info, reserved, 132, 4)         \
  STRUCT(kiln_buffer_spec, 40)                          \
  FIELD(kiln_buffer_spec, struct_size, 0, 8)            \
  FIELD(kiln_buffer_spec, next, 8, 8)                   \
  FIELD(kiln_buffer_spec, dims, 16, 16)                 \
  FIELD(kiln_buffer_spec, dtype, 32, 4)                 \
  FIELD(kiln_buffer_spec, reserved, 36, 4)              \
  STRUCT(kiln_import_args, 48)                          \
  FIELD(kiln_import_args, struct_size, 0, 8)            \
  FIELD(kiln_import_args, next, 8, 8)                   \
  FIELD(kiln_import_args, data, 16, 8)                  \
  FIELD(kiln_import_args, dims, 24, 16)                 \
  FIELD(kiln_import_args, dtype, 40, 4)                 \
  FIELD(kiln_import_args, semantics, 44, 4)             \
  STRUCT(kiln_buffer_info, 56)                          \
  FIELD(kiln_buffer_info, struct_size, 0, 8)            \
  FIELD(kiln_buffer_info, next, 8, 8)                   \
  FIELD(kiln_buffer_info, dims, 16, 16)                 \
  FIELD(kiln_buffer_info, dtype, 32, 4)                 \
  FIELD(kiln_buffer_info, reserved, 36, 4)              \
  FIELD(kiln_buffer_info, size, 40, 8)                  \
  FIELD(kiln_buffer_info, host_data, 48, 8)             \
  STRUCT(kiln_state_in, 40)                             \
  FIELD(kiln_state_in, struct_size, 0, 8)               \
  FIELD(kiln_state_in, next, 8, 8)                      \
  FIELD(kiln_state_in, buffer, 16, 8)                   \
  FIELD(kiln_state_in, donate, 24, 4)                   \
  FIELD(kiln_state_in, reserved, 28, 4)                 \
  FIELD(kiln_state_in, version, 32, 8)                  \
  STRUCT(kiln_execute_args, 128)                        \
  FIELD(kiln_execute_args, struct_size, 0, 8)           \
  FIELD(kiln_execute_args, next, 8, 8)                  \
  FIELD(kiln_execute_args, inputs, 16, 8)               \
  FIELD(kiln_execute_args, input_count, 24, 8)          \
  FIELD(kiln_execute_args, states, 32, 24)              \
  FIELD(kiln_execute_args, outputs, 56, 8)              \
  FIELD(kiln_execute_args, output_count, 64, 8)         \
  FIELD(kiln_execute_args, state_out, 72, 8)            \
  FIELD(kiln_execute_args, update_count, 80, 8)         \
  FIELD(kiln_execute_args, seed, 88, 8)                 \
  FIELD(kiln_execute_args, call_counter, 96, 8)         \
  FIELD(kiln_execute_args, host_call_context, 104, 8)   \
  FIELD(kiln_execute_args, label, 112, 16)              \
  STRUCT(kiln_frame_io, 152)                            \
  FIELD(kiln_frame_io, struct_size, 0, 8)               \
  FIELD(kiln_frame_io, next, 8, 8)                      \
  FIELD(kiln_frame_io, inputs, 16, 24)                  \
  FIELD(kiln_frame_io, outputs, 40, 24)                 \
  FIELD(kiln_frame_io, states, 64, 24)                  \
  FIELD(kiln_frame_io, updates, 88, 8)                  \
  FIELD(kiln_frame_io, update_count, 96, 8)             \
  FIELD(kiln_frame_io, sizes_serial, 104, 8)            \
  FIELD(kiln_frame_io, seed, 112, 8)                    \
  FIELD(kiln_frame_io, call_counter, 120, 8)            \
  FIELD(kiln_frame_io, host_call_context, 128, 8)       \
  FIELD(kiln_frame_io, label, 136, 16)                  \
  STRUCT(kiln_backend_api, 200)                         \
  FIELD(kiln_backend_api, struct_size, 0, 8)            \
  FIELD(kiln_backend_api, next, 8, 8)                   \
  FIELD(kiln_backend_api, error_read, 16, 8)            \
  FIELD(kiln_backend_api, error_destroy, 24, 8)         \
  FIELD(kiln_backend_api, probe, 32, 8)                 \
  FIELD(kiln_backend_api, instance_create, 40, 8)       \
  FIELD(kiln_backend_api, instance_shutdown, 48, 8)     \
  FIELD(kiln_backend_api, instance_destroy, 56, 8)      \
  FIELD(kiln_backend_api, op_table, 64, 8)              \
  FIELD(kiln_backend_api, check, 72, 8)                 \
  FIELD(kiln_backend_api, compile, 80, 8)               \
  FIELD(kiln_backend_api, executable_info, 88, 8)       \
  FIELD(kiln_backend_api, executable_destroy, 96, 8)    \
  FIELD(kiln_backend_api, buffer_allocate, 104, 8)      \
  FIELD(kiln_backend_api, buffer_import_host, 112, 8)   \
  FIELD(kiln_backend_api, buffer_copy_to_host, 120, 8)  \
  FIELD(kiln_backend_api, buffer_info, 128, 8)          \
  FIELD(kiln_backend_api, buffer_destroy, 136, 8)       \
  FIELD(kiln_backend_api, execute, 144, 8)              \
  FIELD(kiln_backend_api, event_wait, 152, 8)           \
  FIELD(kiln_backend_api, event_destroy, 160, 8)        \
  FIELD(kiln_backend_api, get_proc, 168, 8)             \
  FIELD(kiln_backend_api, frame_create, 176, 8)         \
  FIELD(kiln_backend_api, frame_run, 184, 8)            \
  FIELD(kiln_backend_api, frame_destroy, 192, 8)        \
  STRUCT(kiln_host_info, 88)                            \
  FIELD(kiln_host_info, struct_size, 0, 8)              \
  FIELD(kiln_host_info, next, 8, 8)                     \
  FIELD(kiln_host_info, magic, 16, 8)                   \
  FIELD(kiln_host_info, abi_major, 24, 4)               \
  FIELD(kiln_host_info, abi_minor_lowest, 28, 4)        \
  FIELD(kiln_host_info, abi_minor_highest, 32, 4)       \
  FIELD(kiln_host_info, sanitizer, 36, 4)               \
  FIELD(kiln_host_info, library_version, 40, 16)        \
  FIELD(kiln_host_info, library_path, 56, 16)           \
  FIELD(kiln_host_info, reason, 72, 8)                  \
  FIELD(kiln_host_info, reason_capacity, 80, 8)         \
  STRUCT(kiln_backend_header, 128)                      \
  FIELD(kiln_backend_header, struct_size, 0, 8)         \
  FIELD(kiln_backend_header, next, 8, 8)                \
  FIELD(kiln_backend_header, magic, 16, 8)              \
  FIELD(kiln_backend_header, abi_major, 24, 4)          \
  FIELD(kiln_backend_header, abi_minor_lowest, 28, 4)   \
  FIELD(kiln_backend_header, abi_minor_highest, 32, 4)  \
  FIELD(kiln_backend_header, sanitizer, 36, 4)          \
  FIELD(kiln_backend_header, name, 40, 16)              \
  FIELD(kiln_backend_header, version, 56, 16)           \
  FIELD(kiln_backend_header, build_id, 72, 16)          \
  FIELD(kiln_backend_header, toolchain, 88, 16)         \
  FIELD(kiln_backend_header, features, 104, 8)          \
  FIELD(kiln_backend_header, required_api_size, 112, 8) \
  FIELD(kiln_backend_header, api, 120, 8)

#endif
