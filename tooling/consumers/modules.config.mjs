/** `npm run test:modules`: compilers, bundlers, test runners and the framework of other teams. */
export default {
  preset: '@mortise/jest',
  testMatch: ['<rootDir>/test/{keyv,modules,nextjs}.test.ts'],
  testTimeout: 300_000,
  reporters: [
    'default',
    ['@mortise/jest/summary-reporter.cjs', { file: 'modules.json' }],
    '@mortise/jest/end-reporter.cjs',
  ],
};
