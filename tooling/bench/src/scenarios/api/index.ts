import { percentile } from '../../percentile.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { Kind } from './kinds.js';
import { KINDS } from './kinds.js';
import { load, startApi } from './server.js';
import { soak } from './soak.js';

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

const kinds = KINDS.map((kind): Scenario => ({
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

export const api: readonly Scenario[] = [...kinds, soak(LIMITED, KEY)];
