/** The requests of the page while a person reads lists, searches and looks at tasks. */
import { LARGE_ID, QUEUE, RARE_NAME } from './data.js';

export interface Answered {
  readonly ms: number;
  readonly bytes: number;
  readonly nextCursor: string | null | undefined;
}

const TASKS = `queues/${QUEUE}/tasks`;
const PAGE = 50;

export class Requests {
  readonly #url: string;
  readonly lists: Answered[] = [];
  readonly searches: Answered[] = [];
  readonly others: Answered[] = [];

  /** @param url That of the mounted console. */
  constructor(url: string) {
    this.#url = url;
  }

  /** The most bytes of an answer. */
  get mostBytes(): number {
    return Math.max(...[this.lists, this.searches, this.others].flat().map(({ bytes }) => bytes));
  }

  /** Reads so many pages of each list, one after the other, and a page by the payload for each. */
  async read(pages: number): Promise<void> {
    for (const list of ['state=ready', 'state=scheduled', `state=ready&name=${RARE_NAME}`]) {
      let cursor: string | null | undefined;
      for (let n = 0; n < pages && cursor !== null; n += 1) {
        const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const answer = await this.#get(`${TASKS}?${list}&limit=${PAGE}${after}`);
        this.lists.push(answer);
        cursor = answer.nextCursor;
      }
    }
    for (let n = 0; n < pages; n += 1) {
      const filter = `state=scheduled&field=customer&equals=${n}`;
      this.searches.push(await this.#get(`${TASKS}?${filter}&limit=${PAGE}`));
      for (const path of [
        'overview',
        `queues/${QUEUE}`,
        `queues/${QUEUE}/times`,
        `${TASKS}/${LARGE_ID}?maxBytes=16384`,
      ])
        this.others.push(await this.#get(path));
    }
    // It reads large payloads to look into them, and answers without them.
    this.searches.push(await this.#get(`${TASKS}?state=ready&field=customer&equals=0&limit=${PAGE}`));
  }

  /** Throws for a refusal. */
  async #get(path: string): Promise<Answered> {
    const startedAt = performance.now();
    const response = await fetch(`${this.#url}/v1/${path}`, { headers: { 'sec-fetch-site': 'same-origin' } });
    const text = await response.text();
    const ms = performance.now() - startedAt;
    if (!response.ok) throw new Error(`the console answered ${path}: ${text}`);
    const { nextCursor } = JSON.parse(text) as { nextCursor?: string | null };
    return { ms, bytes: Buffer.byteLength(text), nextCursor };
  }
}
