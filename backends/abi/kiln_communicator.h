/* The boundary between Kiln and the libraries that move bytes between processes: plain C99, one
 * exported symbol. A communicator is a shared library libkilncomm_<name>.so that exports only
 * kiln_communicator_query. It moves bytes and never adds: Kiln does that, so that sums have the
 * same bits whatever the library, network or size of a message is.
 *
 * The rules of kiln_backend.h hold: struct_size and next at the start of every struct, text as
 * UTF-8 with a length, arguments borrowed for the call, no exception, abort or exit. */
#ifndef KILN_COMMUNICATOR_H
#define KILN_COMMUNICATOR_H

#include "kiln_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Until the first release the interface has this one version; each side rejects any other. */
#define KILN_COMM_ABI_MAJOR 0u
#define KILN_COMM_ABI_MINOR 1u

#define KILN_COMM_MAGIC 0x4d4d4f434e4c494bull /* "KILNCOMM" as little-endian bytes */
#define KILN_COMM_ENTRY_SYMBOL "kiln_communicator_query"
#define KILN_COMM_MAX_BYTES ((uint64_t)1 << 30) /* of one rank's part of a transfer */
#define KILN_COMM_MAX_RANKS ((uint32_t)1 << 20)

typedef struct kiln_comm kiln_comm; /* a group of ranks */
typedef struct kiln_comm_work kiln_comm_work; /* a transfer in progress */

/* Kinds of a transfer. With P ranks and n bytes, part i is bytes [i n, (i + 1) n). */
enum {
  KILN_COMM_ALL_GATHER = 0, /* send: n bytes; receive: P n bytes, part i from rank i */
  /* send: P n bytes, part i to rank i; receive: P n bytes, part i from rank i */
  KILN_COMM_ALL_TO_ALL = 1,
  KILN_COMM_BROADCAST = 2 /* send: null; receive: n bytes, read on the root, written elsewhere */
};

/* Receives the reason of a code other than KILN_CODE_OK, truncated to the capacity and
 * zero-terminated. */
typedef struct kiln_comm_reason {
  uint64_t struct_size;
  const kiln_ext* next;
  char* text;
  uint64_t capacity;
} kiln_comm_reason;

typedef struct kiln_comm_args {
  uint64_t struct_size;
  const kiln_ext* next;
  kiln_array options; /* of kiln_option; an unknown key is an error that names it */
  /* Logs a line with a level KILN_LOG_...; valid until close returns. */
  void (*log)(void* host, uint32_t level, kiln_string message);
  void* host;
} kiln_comm_args;

/* Filled by info; the text lives as long as the group. */
typedef struct kiln_comm_info {
  uint64_t struct_size;
  const kiln_ext* next;
  uint32_t rank; /* of this process, from 0 */
  uint32_t size; /* of the group, at most KILN_COMM_MAX_RANKS */
  uint32_t local_rank; /* among the ranks of this host */
  uint32_t local_size;
  kiln_string library; /* name, version and file of what moves the bytes */
} kiln_comm_info;

typedef struct kiln_comm_transfer {
  uint64_t struct_size;
  const kiln_ext* next;
  uint32_t kind; /* KILN_COMM_... */
  uint32_t root; /* of a broadcast */
  const void* send; /* the host touches neither until the transfer is done; they share no memory */
  void* receive;
  uint64_t bytes; /* of one rank's part, equal on all ranks, at most KILN_COMM_MAX_BYTES */
} kiln_comm_transfer;

/* All functions are called on one thread. The host starts the transfers of a group in the same
 * order, and with the same kind, root and bytes, on all its ranks; it calls split in that order,
 * too. Each returns a KILN_CODE_.... After any other than KILN_CODE_OK from start, test or split
 * the host uses the group for nothing but close and abort, as transfers may still run. */
typedef struct kiln_communicator_api {
  uint64_t struct_size;
  const kiln_ext* next;

  /* Sets *ranks to the number that a launcher announces, 1 without one. Starts nothing. */
  uint32_t (*probe)(const kiln_comm_args* args, uint32_t* ranks, const kiln_comm_reason* reason);
  /* Joins the group of all ranks, once in a process. */
  uint32_t (*open)(const kiln_comm_args* args, kiln_comm** world, const kiln_comm_reason* reason);
  uint32_t (*info)(kiln_comm* comm, kiln_comm_info* info);
  /* Divides a group: ranks with equal color, any number, form a new one, ordered by key, then by
   * rank. Waits for all ranks of the group. The part lives until the world is closed. */
  uint32_t (*split)(kiln_comm* comm, int64_t color, int64_t key, kiln_comm** part,
                    const kiln_comm_reason* reason);
  /* Starts a transfer and returns without waiting for other ranks. */
  uint32_t (*start)(kiln_comm* comm, const kiln_comm_transfer* transfer, kiln_comm_work** work,
                    const kiln_comm_reason* reason);
  /* Sets *done to 1 and frees the work if the transfer is over, else to 0. Does not wait. */
  uint32_t (*test)(kiln_comm_work* work, uint32_t* done, const kiln_comm_reason* reason);
  /* Sends the text, unless it is empty, to rank 0 without waiting for it; on rank 0, calls on_text
   * with what arrived, where its own may be left out. For names of ranks that wait; optional. */
  uint32_t (*notify)(kiln_comm* world, kiln_string text,
                     void (*on_text)(void* context, uint32_t rank, kiln_string text),
                     void* context);
  /* Ends the processes of all ranks, this one too, with this exit code, as far as the library can;
   * returns if it cannot. */
  void (*abort)(kiln_comm* world, uint32_t exit_code);
  /* Leaves: called by all ranks, with no transfer in progress. Frees the world and its parts; after
   * an error the host uses neither again. */
  uint32_t (*close)(kiln_comm* world, const kiln_comm_reason* reason);
} kiln_communicator_api;

typedef struct kiln_communicator_header {
  uint64_t struct_size;
  const kiln_ext* next;
  uint64_t magic; /* KILN_COMM_MAGIC */
  uint32_t abi_major; /* frozen for ever from the start to sanitizer */
  uint32_t abi_minor_lowest; /* both KILN_COMM_ABI_MINOR until the first release */
  uint32_t abi_minor_highest;
  uint32_t sanitizer; /* KILN_SANITIZER_... */
  kiln_string name; /* [a-z][a-z0-9_]*, at most KILN_MAX_NAME bytes */
  kiln_string version;
  kiln_string build_id;
  uint64_t required_api_size; /* bytes of kiln_communicator_api that the library fills */
  const kiln_communicator_api* api;
} kiln_communicator_header;

/* The only exported symbol; as kiln_backend_query. host->abi_... are those of this header. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
uint32_t
kiln_communicator_query(const kiln_host_info* host, const kiln_communicator_header** header);
typedef uint32_t (*kiln_communicator_query_fn)(const kiln_host_info*,
                                               const kiln_communicator_header**);

#define KILN_ASSERT_SIZE(type, bytes) \
  typedef char kiln_size_of_##type[sizeof(struct type) == (bytes) ? 1 : -1]
KILN_ASSERT_SIZE(kiln_comm_reason, 32);
KILN_ASSERT_SIZE(kiln_comm_args, 56);
KILN_ASSERT_SIZE(kiln_comm_info, 48);
KILN_ASSERT_SIZE(kiln_comm_transfer, 48);
KILN_ASSERT_SIZE(kiln_communicator_api, 88);
KILN_ASSERT_SIZE(kiln_communicator_header, 104);
#undef KILN_ASSERT_SIZE

#ifdef __cplusplus
}
#endif

#endif /* KILN_COMMUNICATOR_H */
