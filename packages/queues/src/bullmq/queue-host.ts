/** The queue of a job that was found through another object, such as a flow producer. */
import { endByHand } from './by-hand.js';
import type { JobHost } from './host.js';
import { storeOfKey, storeOfQueue } from './host.js';
import type { Store } from './store.js';
import type { QueueBaseOptions } from './types.js';

export function hostOf(
  store: Store,
  emitter: Pick<JobHost, 'emit' | 'on' | 'removeListener'>,
  opts: QueueBaseOptions = {},
): JobHost {
  return {
    name: store.queue,
    qualifiedName: store.qualifiedName,
    opts,
    store,
    emit: (event, ...args) => emitter.emit(event, ...args),
    on: (event, listener) => emitter.on(event, listener),
    removeListener: (event, listener) => emitter.removeListener(event, listener),
    storeOfKey: (key) => storeOfKey(store, key),
    storeOfQueue: (name) => storeOfQueue(store, name),
    endByHand,
    nextByHand: () => Promise.resolve([]),
  };
}
