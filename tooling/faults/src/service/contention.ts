/** Programs that hold locks over HTTP, and the history that they leave behind; see history/. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Operation, Section } from '../history/operation.js';
import { nowUs } from '../locks/clock.js';
import type { ServiceClient } from './client.js';
import { slugOf } from './client.js';

const NAMES = ['forge', 'bank', 'gate'];
const CONTENDERS = 8;
const LEASE_MS = 2_000;
/** Longer than a failover, and the leases of those whose answers it has lost. */
const WAIT_MS = 30_000;
const HOLD_MS = 20;
/** A client relies on its lease for less time than the answer says, because the answer itself has taken time. */
const MARGIN_MS = 1_000;
const AFTER_ERROR_MS = 50;

interface Counter {
  value: number;
  token: number;
}

export class Contention {
  readonly operations: Operation[] = [];
  readonly #client: ServiceClient;
  /** The locks protect these. A counter refuses tokens that are smaller than one it has seen. */
  readonly #counters = new Map<string, Counter>(NAMES.map((name) => [name, { value: 0, token: 0 }]));

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      Array.from({ length: CONTENDERS }, async (_, contender) => {
        for (let n = 0; !signal.aborted; n += 1) await this.#turn(`${contender}/${n}`);
      }),
    );
  }

  async #turn(id: string): Promise<void> {
    const key = NAMES[Math.floor(Math.random() * NAMES.length)]!;
    const call = { id: `${id}-acquire`, key, lease: id, calledAt: nowUs(), waitMs: WAIT_MS };
    const body = { leaseMs: LEASE_MS, waitMs: WAIT_MS };
    const answer = await this.#client.send('POST', `locks/${key}/acquire`, { body }).catch(() => undefined);
    const returnedAt = nowUs();
    if (answer?.status !== 201) {
      const isTimeout = answer !== undefined && slugOf(answer) === 'lock-timeout';
      const outcome = isTimeout ? ('timeout' as const) : ('failed' as const);
      this.operations.push({ op: 'acquire', ...call, returnedAt, outcome });
      await pause(AFTER_ERROR_MS);
      return;
    }
    const { holder, fencingToken, expiresInMs } = answer.document as Record<string, number>;
    const validUntil = returnedAt + (expiresInMs! - MARGIN_MS) * 1_000;
    const granted = { returnedAt, outcome: 'acquired' as const, fencingToken: fencingToken!, validUntil };
    this.operations.push({ op: 'acquire', ...call, ...granted });
    await this.#count({ id, key, lease: id, token: fencingToken!, validUntil });
    const calledAt = nowUs();
    const released = await this.#client
      .send('POST', `locks/${key}/release`, { body: { holder } })
      .catch(() => undefined);
    const isLost = released?.status === 409;
    const outcome = released?.status === 200 ? 'released' : isLost ? 'lost' : 'failed';
    const release = { id: `${id}-release`, key, lease: id, calledAt, returnedAt: nowUs(), validUntil };
    this.operations.push({ op: 'release', ...release, outcome });
  }

  /** Adds one to the counter, in two steps. */
  async #count({
    token,
    validUntil,
    ...call
  }: Pick<Section, 'id' | 'key' | 'lease'> & { token: number; validUntil: number }): Promise<void> {
    const counter = this.#counters.get(call.key)!;
    const calledAt = nowUs();
    const isOld = (): boolean => token < counter.token;
    const before = counter.value;
    let outcome: Section['outcome'] = 'refused';
    let value = before;
    if (!isOld()) {
      counter.token = token;
      await pause(Math.random() * HOLD_MS);
      if (nowUs() >= validUntil) outcome = 'abandoned';
      else if (!isOld()) {
        counter.value = value = before + 1;
        outcome = 'written';
      }
    }
    const returnedAt = nowUs();
    const section = { ...call, id: `${call.id}-section`, calledAt, returnedAt, outcome, value };
    this.operations.push({ op: 'section', ...section, isValid: returnedAt < validUntil });
  }
}
