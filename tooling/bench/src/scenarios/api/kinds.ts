/** Work that programs do over HTTP. */
import type { ApiReply, ApiServer } from './server.js';

export interface Kind {
  readonly name: string;
  readonly title: string;
  readonly operation: string;
  readonly before?: (api: ApiServer) => Promise<unknown>;
  readonly act: (api: ApiServer, nth: number) => Promise<unknown>;
}

/** Throws for a refusal: what fails is not measured. */
export async function accepted(reply: Promise<ApiReply>): Promise<ApiReply> {
  const { status, text } = await reply;
  if (status >= 300) throw new Error(`the API answered ${status}: ${text}`);
  return { status, text };
}

export const KINDS: readonly Kind[] = [
  {
    name: 'enqueue',
    title: 'API: enqueueing a task',
    operation: 'one `POST /v1/queues/{queue}/tasks`',
    act: (api) =>
      accepted(
        api.send({ method: 'POST', path: '/v1/queues/bench/tasks', body: { name: 'a', payload: { n: 1 } } }),
      ),
  },
  {
    name: 'lock',
    title: 'API: a lock, acquired and released',
    operation: 'one acquisition of a free lock and its release: two requests',
    act: async (api, nth) => {
      const path = `/v1/locks/bench-${nth % 1_000}-${nth}`;
      const { text } = await accepted(
        api.send({ method: 'POST', path: `${path}/acquire`, body: { leaseMs: 10_000 } }),
      );
      const { holder } = JSON.parse(text) as { holder: string };
      await accepted(api.send({ method: 'POST', path: `${path}/release`, body: { holder } }));
    },
  },
  {
    name: 'complete',
    title: 'API: a completion of a name',
    operation: 'one `GET /v1/address-books/{guild}/completions` in a book of 1,000 names',
    before: async (api) => {
      const names = Array.from({ length: 1_000 }, (_, index) => ({
        name: `n${index}`,
        display: `Name ${index}`,
      }));
      const path = '/v1/address-books/bench';
      await accepted(
        api.send({ method: 'PUT', path: `${path}/names/n0?by=n0`, body: { display: 'Name 0' } }),
      );
      await accepted(api.send({ method: 'POST', path: `${path}/name-batches?by=n0`, body: { names } }));
    },
    act: (api, nth) =>
      accepted(
        api.send({
          method: 'GET',
          path: `/v1/address-books/bench/completions?by=n0&prefix=name%20${nth % 1_000}`,
        }),
      ),
  },
];
