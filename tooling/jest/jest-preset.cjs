// One preset for every package: native ESM, swc, the sources of the workspace instead of their builds, and a
// real Redis: one cluster-enabled node for each jest process, so that slot rules hold in every test.
module.exports = {
  testEnvironment: require.resolve('./environment.cjs'),
  testEnvironmentOptions: { customExportConditions: ['@mortise/source', 'node', 'node-addons'] },
  globalSetup: require.resolve('./start-redis.mjs'),
  globalTeardown: require.resolve('./stop-redis.mjs'),
  reporters: ['default', require.resolve('./summary-reporter.cjs'), require.resolve('./end-reporter.cjs')],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // slow.mjs
  testPathIgnorePatterns: ['/node_modules/', String.raw`\.slow\.test\.ts$`],
  // A bound for what hangs, not for what is slow: a busy machine takes its own time.
  testTimeout: 240_000,
  // Most of what these tests do is wait, for leases, failovers and processes: two files at a time also on two cores.
  maxWorkers: process.env.CI ? 1 : 2,
  extensionsToTreatAsEsm: ['.ts'],
  // First ts: './x.js' in a source means x.ts, also where an x.mjs lies beside it.
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json'],
  moduleNameMapper: {
    // npm run test:node-redis
    ...(process.env.MORTISE_CLIENT === 'node-redis' && {
      '^ioredis$': require.resolve('../test-kit/src/node-redis/ioredis.ts'),
    }),
    // npm run test:protected
    ...(process.env.MORTISE_PROTECTED && {
      '^ioredis$': require.resolve('../test-kit/src/protected/ioredis.ts'),
    }),
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      require.resolve('@swc/jest'),
      {
        sourceMaps: 'inline',
        module: { type: 'es6' },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
          keepClassNames: true,
        },
      },
    ],
  },
};
