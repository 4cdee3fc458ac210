/** The mailboxes of the players: each seller learns of a sale, and reads and acks what has come. */
import type { Answer, ServiceClient } from './client.js';
import type { Sale } from './trade.js';
import { PLAYERS } from './trade.js';

const WAIT_MS = 1_000;

export class Mailboxes {
  /** The sent messages, each the id of a sale, with the time of its request. */
  readonly sent = new Map<string, Pick<Answer, 'calledAt' | 'answeredAt'>>();
  readonly received = new Set<string>();
  /** Messages that came again after the ack was answered. */
  readonly repeated: string[] = [];
  readonly #acked = new Set<string>();
  readonly #client: ServiceClient;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  async notify({ id, sellerId, buyerId }: Sale): Promise<void> {
    const body = { from: buyerId, body: id, id };
    this.sent.set(id, await this.#client.get('POST', `mailboxes/${sellerId}/messages`, { body }));
  }

  /** Reads all mailboxes until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      PLAYERS.map(async (player) => {
        while (!signal.aborted) await this.#read(player, WAIT_MS);
      }),
    );
  }

  /** Reads what is left, when nobody sends any more. */
  async drain(): Promise<void> {
    for (const player of PLAYERS) while ((await this.#read(player, 0)) > 0);
  }

  async #read(player: string, waitMs: number): Promise<number> {
    const path = `mailboxes/${player}/messages?limit=100&waitMs=${waitMs}`;
    const { items } = (await this.#client.get('GET', path)).document as {
      items: { id: number; body: string }[];
    };
    for (const { body } of items) {
      if (this.#acked.has(body)) this.repeated.push(body);
      this.received.add(body);
    }
    const last = items.at(-1);
    if (!last) return 0;
    const ack = { body: { upToId: last.id } };
    const { status } = await this.#client.ask('POST', `mailboxes/${player}/ack`, ack);
    // A mailbox that a failover has lost knows no such id.
    if (status < 300) for (const { body } of items) this.#acked.add(body);
    return items.length;
  }
}
