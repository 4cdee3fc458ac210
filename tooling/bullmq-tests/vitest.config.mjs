/** Runs the tests of a checkout of BullMQ with the layer in place of its classes. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const source = process.env.BULLMQ_SOURCE ?? '.';
const here = import.meta.dirname;
const require = createRequire(import.meta.url);
const shim = (name) => join(here, 'shims', name);

const SHIMS = [
  [/\/src\/classes(\/.*)?$/, shim('classes.mjs')],
  [/\/src\/utils(\/.*)?$/, shim('utils.mjs')],
  [/\/src\/(interfaces|types|enums|version)(\/.*)?$/, shim('empty.mjs')],
  [/\/get-redis-client$/, shim('get-redis-client.mjs')],
  [/^sinon$/, shim('sinon.mjs')],
];

export default defineConfig({
  root: source,
  plugins: [
    {
      name: 'layer',
      enforce: 'pre',
      // A test file has a require of its own.
      transform(code, id) {
        if (!id.startsWith(join(source, 'tests'))) return null;
        return code.replaceAll("require('moment')", `require(${JSON.stringify(require.resolve('moment'))})`);
      },
      resolveId(id, importer) {
        if (id === 'sinon-itself') return require.resolve('sinon');
        if (id === 'bullmq-connection-factory') return join(source, 'tests/utils/connection-factory.ts');
        if (!importer?.startsWith(join(source, 'tests'))) return null;
        if (id === 'rrule') return require.resolve('rrule');
        if (id === 'moment') return require.resolve('moment');
        return SHIMS.find(([pattern]) => pattern.test(id))?.[1] ?? null;
      },
    },
  ],
  resolve: { conditions: ['@mortise/source', 'node', 'import'] },
  ssr: { resolve: { conditions: ['@mortise/source', 'node', 'import'] } },
  server: { fs: { strict: false } },
  test: {
    root: source,
    include: (process.env.BULLMQ_TESTS_FILES ?? '').split(',').map((name) => `tests/${name}.test.ts`),
    exclude: [],
    setupFiles: [join(here, 'setup.mjs')],
    testTimeout: 10_000,
    hookTimeout: 10_000,
    teardownTimeout: 2_000,
    sequence: { concurrent: false },
    fileParallelism: false,
    pool: 'forks',
    dangerouslyIgnoreUnhandledErrors: true,
  },
});
