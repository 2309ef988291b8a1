/* An optional extension of kiln_communicator_api: the communicator tells kiln doctor what moves the
 * bytes between ranks, without ranks. */
#ifndef KILN_COMMUNICATOR_REPORT_H
#define KILN_COMMUNICATOR_REPORT_H

#include "kiln_communicator.h"

#define KILN_COMM_REPORT_TYPE 0x9a9fc50c775fc370ull /* FNV-1a of "kiln.communicator.report" */

/* An element of the chain kiln_communicator_api.next with the type_id KILN_COMM_REPORT_TYPE. */
typedef struct kiln_comm_report {
  kiln_ext ext;
  /* Calls on_line for each "name: text" about this process or, unless a launcher started it, about
   * the ranks that the launcher at that path would start. `launcher` may be empty, and `version` is
   * what it says of itself. May load libraries, but initialises none. An error is what open would
   * give; lines may come before it. */
  uint32_t (*report)(const kiln_comm_args* args, kiln_string launcher, kiln_string version,
                     void (*on_line)(void* context, kiln_string line), void* context,
                     const kiln_comm_reason* reason);
} kiln_comm_report;

#endif /* KILN_COMMUNICATOR_REPORT_H */
