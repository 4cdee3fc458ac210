/** Messages between players who are found by the beginnings of their names, and the chat of their guild. */
import type { Answer, ServiceClient } from './client.js';
import { PLAYERS } from './trade.js';

const CHAT = 'tavern';
const GUILD = 'dragons';
const PAGE = 200;

export class Talk {
  /** The posted messages, with the time of each post. */
  readonly posted = new Map<string, Pick<Answer, 'calledAt' | 'answeredAt'>>();
  readonly #client: ServiceClient;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  async prepare(): Promise<void> {
    const [sender, ...members] = PLAYERS;
    await this.#client.get('POST', 'chats', { body: { sender, members, chatId: CHAT }, requestKey: CHAT });
    const names = PLAYERS.map((name) => ({ name, display: name }));
    const own = `address-books/${GUILD}/names/${sender}?by=${sender}`;
    await this.#client.get('PUT', own, { body: { display: sender } });
    await this.#client.get('POST', `address-books/${GUILD}/name-batches?by=${sender}`, { body: { names } });
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n += 1) {
      const sender = PLAYERS[n % PLAYERS.length]!;
      const typed = `address-books/${GUILD}/completions?by=${sender}&prefix=player${n % 7}`;
      const { document } = await this.#client.get('GET', typed);
      const text = `${n}: ${document.items[0].name}, come to the tavern`;
      const message = await this.#client.get('POST', `chats/${CHAT}/messages`, {
        body: { sender, body: text },
        requestKey: `post-${n}`,
      });
      this.posted.set(text, message);
    }
  }

  /** How often each message is stored. */
  async stored(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (let after = 0; ;) {
      const path = `chats/${CHAT}/messages?after=${after}&limit=${PAGE}`;
      const { document } = await this.#client.get('GET', path);
      for (const { id, body } of document.items) {
        counts.set(body, (counts.get(body) ?? 0) + 1);
        after = id;
      }
      if (document.items.length < PAGE) return counts;
    }
  }
}
