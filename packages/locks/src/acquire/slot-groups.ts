/**
 * Which locks may share a script call. On Cluster: the locks of one slot. Elsewhere: all. Fifty locks acquired in one tick
 * are then one command, which costs Redis a third of fifty commands. A single node in cluster mode, which the client cannot
 * recognize, refuses the first such call before it does anything.
 */
import { perClient } from '@mortise/redis';

/** The group of all locks where slots do not matter. */
const ANY_SLOT = -1;

/** A request that names its lock. */
interface Request {
  readonly lock: { readonly id: string; readonly slot: number };
}

type Send<R, Reply> = (requests: readonly R[]) => Promise<readonly (Reply | Error)[]>;

export class SlotGroups {
  /** The groups of a client. */
  static readonly of = /* @__PURE__ */ perClient((client) => new SlotGroups(client.isCluster));
  #isBySlot: boolean;

  private constructor(isBySlot: boolean) {
    this.#isBySlot = isBySlot;
  }

  /** Requests of one group may share a call. */
  groupOf(slot: number): number {
    return this.#isBySlot ? slot : ANY_SLOT;
  }

  /** Whether the server refused a call because of its slots. Later requests are then grouped by slot. */
  learn(error: unknown): boolean {
    if (isCrossSlot(error)) this.#isBySlot = true;
    return isCrossSlot(error);
  }

  /**
   * Sends requests of one group. If the server refuses the call because of its slots, each slot gets a call of its
   * own. One key may be the reason of the refusal: it has a foreign type, or is forbidden to this user. Then each
   * lock gets a call of its own, so only the requests for that lock fail. All calls of locks are safe to repeat.
   * Resolves to one result for each request.
   */
  async send<R extends Request, Reply>(
    requests: readonly R[],
    send: Send<R, Reply>,
  ): Promise<readonly (Reply | Error)[]> {
    try {
      return await send(requests);
    } catch (error) {
      if (this.learn(error)) return await sendEach(requests, ({ lock }) => lock.slot, send);
      if (!isOfOneKey(error) || new Set(requests.map(({ lock }) => lock.id)).size === 1) throw error;
      return await sendEach(requests, ({ lock }) => lock.id, send);
    }
  }
}

/** Sends a call for each group of requests. */
export async function sendEach<R, Reply>(
  requests: readonly R[],
  groupOf: (request: R) => unknown,
  send: Send<R, Reply>,
): Promise<(Reply | Error)[]> {
  const results = new Map<R, Reply | Error>();
  await Promise.all(
    [...new Set(requests.map(groupOf))].map(async (key) => {
      const group = requests.filter((request) => groupOf(request) === key);
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

/** The error of a script call whose keys lie in several slots. */
function isCrossSlot(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('CROSSSLOT');
}

/** An error that a single key may have caused: it has a foreign type, or this user may not touch it. */
export function isOfOneKey(error: unknown): boolean {
  return error instanceof Error && /^(?:WRONGTYPE|NOPERM|ERR)\b/.test(error.message);
}
