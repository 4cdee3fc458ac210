export default {
  preset: '@mortise/jest',
  globalSetup: undefined,
  globalTeardown: undefined,
  testMatch: ['<rootDir>/test/packages.test.ts'],
  reporters: [
    'default',
    ['@mortise/jest/summary-reporter.cjs', { file: 'packages.json' }],
    '@mortise/jest/end-reporter.cjs',
  ],
};
