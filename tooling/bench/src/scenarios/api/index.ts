import { percentile } from '../../percentile.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { ApiReply, ApiServer } from './server.js';
import { load, startApi } from './server.js';

const SECONDS = 4;
const WARM_UP_SECONDS = 2;
const KEY = 'mk_bench_0123456789012345678901';

interface Setting {
  readonly name: string;
  readonly env: Record<string, string>;
}

const OPEN: Setting = { name: 'without a key', env: { AUTH: 'off' } };
const KEYED: Setting = { name: 'with a key', env: { AUTH: 'keys', ADMIN_KEY: KEY } };
const LIMITED: Setting = {
  name: 'with a key, and limits of key and tenant',
  env: { ...KEYED.env, KEY_LIMIT: '1000000/1', TENANT_LIMIT: '1000000/1' },
};

interface Kind {
  readonly name: string;
  readonly title: string;
  readonly operation: string;
  readonly before?: (api: ApiServer) => Promise<unknown>;
  readonly act: (api: ApiServer, nth: number) => Promise<unknown>;
}

/** Throws for a refusal: what fails is not measured. */
async function accepted(reply: Promise<ApiReply>): Promise<ApiReply> {
  const { status, text } = await reply;
  if (status >= 300) throw new Error(`the API answered ${status}: ${text}`);
  return { status, text };
}

const KINDS: readonly Kind[] = [
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

function competitor({ name, env }: Setting, { before, act }: Kind): Competitor {
  return {
    name,
    version: 'this repository',
    prepare: async (_redis, { url, seconds = SECONDS }) => {
      const api = await startApi({ REDIS_URL: url, ...env }, { authorization: `Bearer ${KEY}` });
      await before?.(api);
      return {
        warmUp: () => load(WARM_UP_SECONDS, (nth) => act(api, -nth)),
        run: async () => {
          const cpuBefore = api.cpuMicros();
          const mibBefore = api.residentMib();
          const took = await load(seconds, (nth) => act(api, nth));
          return {
            operations: took.length,
            figures: {
              'p50 ms': percentile(took, 0.5),
              'p99 ms': percentile(took, 0.99),
              'API CPU µs': (api.cpuMicros() - cpuBefore) / took.length,
              'MiB more': api.residentMib() - mibBefore,
            },
          };
        },
        close: () => api.stop(),
      };
    },
  };
}

/** The bar of a request with a key. */
const KEY_BAR: Bar = { competitor: KEYED.name, figure: 'API CPU µs', atMost: 1.25, times: OPEN.name };

export const api: readonly Scenario[] = KINDS.map((kind) => ({
  name: `api.${kind.name}`,
  title: kind.title,
  operation: kind.operation,
  method:
    'The built API as a process, one Redis, and a client with 50 connections in a third process, all on the same cores. The log is on.',
  competitors: [OPEN, KEYED, LIMITED].map((setting) => competitor(setting, kind)),
  columns: ['operations/s', 'p50 ms', 'p99 ms', 'API CPU µs', 'Redis CPU µs', 'commands run', 'MiB more'],
  baseline: { competitor: OPEN.name, figure: 'API CPU µs' },
  ...(kind.name === 'enqueue' && { bars: [KEY_BAR] }),
}));
