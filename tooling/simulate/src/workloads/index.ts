import type { Workload } from '../workload.js';
import { autocomplete } from './autocomplete.js';
import { cache } from './cache.js';
import { files } from './files.js';
import { locks } from './locks.js';
import { market } from './market.js';
import { messaging } from './messaging.js';
import { queues } from './queues.js';

export const WORKLOADS: readonly Workload[] = [locks, queues, messaging, files, autocomplete, cache, market];

/** Throws for a name that no workload has. */
export function workloadOf(name: string): Workload {
  const workload = WORKLOADS.find((one) => one.name === name);
  if (!workload)
    throw new RangeError(`--package is one of ${WORKLOADS.map((one) => one.name).join(', ')}, got ${name}`);
  return workload;
}
