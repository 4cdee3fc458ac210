/** The limits of a queue: the names of members are those of the HTTP service. */
import type { QueueLimits } from '@mortise/queues';

import { present } from './given.js';

/** The limits in a body; those that it leaves out are not there. */
export function limitsOf({
  concurrency,
  rate,
  groups,
  maxTasks,
  keepEvents,
}: Record<string, unknown>): QueueLimits {
  const { isOrdered, ...ofGroups } = (groups ?? {}) as Record<string, unknown>;
  const ordered = isOrdered === undefined ? {} : { ordered: isOrdered };
  return present({
    concurrency,
    rate,
    maxTasks,
    keepEvents,
    groups: groups === undefined ? undefined : { ...ofGroups, ...ordered },
  }) as QueueLimits;
}
