// These read files. `npm run test:deploy` has the ones that build and run: long.config.mjs.
export default {
  preset: '@mortise/jest',
  globalSetup: undefined,
  globalTeardown: undefined,
  testMatch: ['<rootDir>/test/*.test.ts'],
};
