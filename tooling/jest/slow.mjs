/**
 * The configuration of a package's slow tests, from that of its others: those that start whole services, browsers or builds.
 * `npm run test:slow` runs them.
 */
export const slow = (config) => ({
  ...config,
  testMatch: ['<rootDir>/test/**/*.slow.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  reporters: [
    'default',
    ['@mortise/jest/summary-reporter.cjs', { file: 'slow.json' }],
    '@mortise/jest/end-reporter.cjs',
  ],
});
