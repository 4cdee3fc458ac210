/** Jobs that their ack has removed. The engine does not know log lines of the layer; one command removes those of all jobs of a call. */
import { encodeTaskId } from '../task/task-id.js';
import type { Store } from './store.js';

export class RemovedJobs {
  readonly #store: Store;
  #ids: Buffer[] = [];
  #cleaning: Promise<void> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Resolves when its lines are gone. Calls of one tick share a promise. */
  add(id: string): Promise<void> {
    this.#ids.push(encodeTaskId(id));
    if (this.#ids.length === 1) this.#cleaning = Promise.resolve().then(() => this.#clean());
    return this.#cleaning;
  }

  async #clean(): Promise<void> {
    const ids = this.#ids;
    this.#ids = [];
    await this.#store.forgetAll(ids);
  }
}
