/**
 * Which locks may travel in one script call. On Cluster those of a slot; elsewhere all of them: fifty locks that are
 * taken in one tick are one command, for a third of what fifty commands cost Redis. A single node that enforces slots
 * (it is a cluster of one, and the client doesn't know) says so at the first call, before anything is done.
 */
import { perClient } from './per-client.js';

/** The group of all locks where slots do not count. */
const ANY_SLOT = -1;

interface Slotted {
  readonly slot: number;
}

export class Grouping {
  /** The grouping of a client. */
  static readonly of = perClient((client) => new Grouping(client.isCluster));
  #isBySlot: boolean;

  private constructor(isBySlot: boolean) {
    this.#isBySlot = isBySlot;
  }

  /** Requests of one group may travel together. */
  groupOf({ slot }: Slotted): number {
    return this.#isBySlot ? slot : ANY_SLOT;
  }

  /** Whether the server refused a call for its slots. That is remembered: what is asked next is grouped by slot. */
  learn(error: unknown): boolean {
    if (isCrossSlot(error)) this.#isBySlot = true;
    return isCrossSlot(error);
  }

  /**
   * Sends requests of one group. When the server refuses the call for its slots, each slot is asked for again by itself;
   * when for one key (of a foreign type, or out of bounds for this user), each lock: so only those fail that have to. All
   * calls of locks are safe to repeat. Resolves to one result for each request.
   */
  async send<Request extends Slotted, Result>(
    requests: readonly Request[],
    lockOf: (request: Request) => string,
    send: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>,
  ): Promise<readonly (Result | Error)[]> {
    try {
      return await send(requests);
    } catch (error) {
      if (this.learn(error)) return await sendEach(requests, ({ slot }) => slot, send);
      if (!isOfOneKey(error) || new Set(requests.map(lockOf)).size === 1) throw error;
      return await sendEach(requests, lockOf, send);
    }
  }
}

/** Sends the requests of each part by themselves. */
export async function sendEach<Request, Result>(
  requests: readonly Request[],
  partOf: (request: Request) => unknown,
  send: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>,
): Promise<(Result | Error)[]> {
  const results = new Map<Request, Result | Error>();
  await Promise.all(
    [...new Set(requests.map(partOf))].map(async (part) => {
      const group = requests.filter((request) => partOf(request) === part);
      try {
        const replies = await send(group);
        for (const [index, request] of group.entries()) results.set(request, replies[index]!);
      } catch (error) {
        for (const request of group) results.set(request, error as Error);
      }
    }),
  );
  return requests.map((request) => results.get(request)!);
}

/** The refusal of a script whose keys are in several slots. */
export function isCrossSlot(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('CROSSSLOT');
}

/** What one key is enough for: somebody else has put something of another type there, or this user may not touch it. */
export function isOfOneKey(error: unknown): boolean {
  return error instanceof Error && /^(?:WRONGTYPE|NOPERM|ERR)\b/.test(error.message);
}
