/**
 * The workers and readers of events of a queue. BullMQ finds theirs by the names of Redis connections; those of the layer share a client,
 * so each writes every 15 s that it is there.
 */
import { layerPresence } from '../scripts.gen.js';
import type { Store } from './store.js';

const EVERY_MS = 15_000;
const KEEP_MS = 45_000;

/** As BullMQ ends the name of a connection. */
export type Kind = 'w' | 'qe';

export interface Present {
  readonly [field: string]: string;
  readonly id: string;
  /** Of the queue. */
  readonly name: string;
  /** Prefix, queue and name of the worker, as BullMQ names a connection. */
  readonly rawname: string;
}

export class Presence {
  readonly #store: Store;
  readonly #member: string;
  #timer: NodeJS.Timeout | undefined;
  #beginning: Promise<void> | undefined;
  #hasEnded = false;

  constructor(store: Store, kind: Kind, id: string, name: string) {
    this.#store = store;
    this.#member = JSON.stringify([kind, id, name]);
  }

  /** Resolves when it is listed. */
  async begin(): Promise<void> {
    if (this.#hasEnded) return;
    this.#beginning ??= this.#renew();
    await this.#beginning;
  }

  async #renew(): Promise<void> {
    await this.#write(KEEP_MS);
    // The next call comes after the answer, however slow Redis is.
    if (!this.#hasEnded) this.#timer = setTimeout(() => void this.#renew(), EVERY_MS).unref();
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    if (!this.#beginning) return;
    clearTimeout(this.#timer);
    await this.#beginning;
    await this.#write(0);
  }

  /** Best effort: without Redis the entry expires. */
  #write(keepMs: number): Promise<unknown> {
    return presence(this.#store, this.#member, keepMs).catch(() => undefined);
  }
}

export async function presentOnes(store: Store, wanted: Kind): Promise<Present[]> {
  const members = await presence(store, '', 0);
  const base = `${store.prefix}:${Buffer.from(store.queue).toString('base64')}`;
  return members.flatMap((member) => {
    const [kind, id, name] = JSON.parse(member) as [Kind, string, string];
    const end = kind === 'w' && name === '' ? '' : `:${kind}${name === '' ? '' : `:${name}`}`;
    return kind === wanted ? [{ id, name: store.queue, rawname: base + end }] : [];
  });
}

async function presence(store: Store, member: string, keepMs: number): Promise<string[]> {
  const { layerPresent } = store.layerKeys;
  return (await layerPresence.run(store.redis, { layerPresent }, { member, keepMs })) as string[];
}
