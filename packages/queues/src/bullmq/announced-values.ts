/**
 * Results of jobs that are removed at their ends. An event of the engine has no result, and its readers look at the job. So the worker
 * publishes the result of such a job before its end, and readers keep it until then. Without readers it publishes nothing.
 */
import type { Shard } from '../shard/shard.js';
import type { JobLike } from './host.js';

/** No event of a user has an id. */
export const VALUE_EVENT = '$value';
/** An event may have 60,000. */
const MAX_BYTES = 50_000;
/** A worker may die between the two events. */
const MOST = 1_000;

/** `json`: the result. */
export async function announceValue(job: JobLike, json: string, shard?: Shard): Promise<void> {
  if (json === '' || shard?.settings.values.keepEvents === 0 || Buffer.byteLength(json) > MAX_BYTES) return;
  await job.queue.store.publish(job.id!, { event: VALUE_EVENT, value: JSON.parse(json) as unknown }, shard);
}

export class AnnouncedValues {
  readonly #values = new Map<string, unknown>();

  set(id: string, value: unknown): void {
    this.#values.delete(id);
    this.#values.set(id, value);
    if (this.#values.size > MOST) this.#values.delete(this.#values.keys().next().value!);
  }

  /** Undefined for none. */
  take(id: string): unknown {
    const value = this.#values.get(id);
    this.#values.delete(id);
    return value;
  }
}
