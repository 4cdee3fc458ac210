/** `npm run test:modules`: compilers, bundlers and test runners of other teams. */
export default {
  preset: '@mortise/jest',
  globalSetup: undefined,
  globalTeardown: undefined,
  testMatch: ['<rootDir>/test/modules.test.ts'],
  testTimeout: 300_000,
  reporters: [
    'default',
    ['@mortise/jest/summary-reporter.cjs', { file: 'modules.json' }],
    '@mortise/jest/end-reporter.cjs',
  ],
};
