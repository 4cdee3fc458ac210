import type { Place, Workload, WorkloadName } from '../workload.js';

/** Each process loads the code of its own workload only. */
export const WORKLOADS: Readonly<Record<WorkloadName, (place: Place) => Promise<Workload>>> = {
  locks: async (place) => (await import('./locks.js')).locks(place),
  queues: async (place) => (await import('./queues.js')).queues(place),
  chats: async (place) => (await import('./messaging.js')).chats(place),
  mailboxes: async (place) => (await import('./messaging.js')).mailboxes(place),
  files: async (place) => (await import('./files.js')).files(place),
  rows: async (place) => (await import('./rows.js')).rows(place),
  cache: async (place) => (await import('./cache.js')).cache(place),
  autocomplete: async (place) => (await import('./autocomplete.js')).autocomplete(place),
  market: async (place) => (await import('./market.js')).market(place),
};
