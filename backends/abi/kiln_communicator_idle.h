/* An optional extension of kiln_communicator_api: the host tells the communicator that it only
 * waits, so that a communicator which knows all ranks can detect a deadlock. */
#ifndef KILN_COMMUNICATOR_IDLE_H
#define KILN_COMMUNICATOR_IDLE_H

#include "kiln_communicator.h"

#define KILN_COMM_IDLE_TYPE 0xcfc04604654a6afcull /* FNV-1a of "kiln.communicator.idle" */

/* An element of the chain kiln_communicator_api.next with the type_id KILN_COMM_IDLE_TYPE. */
typedef struct kiln_comm_idle {
  kiln_ext ext;
  /* Called before the host sleeps, on the thread of all other functions. It promises that this rank
   * starts, splits and closes nothing until one of its transfers is over: no other thread of the
   * program is about to ask for that. The promise ends with the first transfer that is over, or
   * with an error. May wait for that, and may return at any time. */
  void (*idle)(kiln_comm* world);
} kiln_comm_idle;

#endif /* KILN_COMMUNICATOR_IDLE_H */
