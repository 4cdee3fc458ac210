// `npm run test:deploy` at the root: needs kubectl and systemd-analyze.
export default {
  preset: '@mortise/jest',
  globalSetup: undefined,
  globalTeardown: undefined,
  // Not the summary of the ordinary tests: this is no part of them.
  reporters: ['default', '@mortise/jest/end-reporter.cjs'],
  testMatch: ['<rootDir>/test/long/*.test.ts'],
  maxWorkers: 1,
};
