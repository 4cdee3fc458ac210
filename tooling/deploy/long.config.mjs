// `npm run test:deploy` at the root: needs kubectl, systemd-analyze and the npm registry.
export default {
  preset: '@mortise/jest',
  globalSetup: undefined,
  globalTeardown: undefined,
  // Not the summary of the ordinary tests: this is no part of them.
  reporters: ['default', '@mortise/jest/end-reporter.cjs'],
  testMatch: ['<rootDir>/test/long/*.test.ts'],
  // The replay installs and builds both apps: a minute on a machine of two processors with nothing else to do.
  testTimeout: 900_000,
  maxWorkers: 1,
};
