// `npm run faults` at the root. One file after the other: each of them uses all processors, and some measure time.
export default {
  preset: '@mortise/jest',
  // Not the summary of the ordinary tests: this is no part of them.
  reporters: ['default', '@mortise/jest/end-reporter.cjs'],
  testMatch: ['<rootDir>/test/long/*.fault.test.ts'],
  // Twenty times what they take on a machine of two processors with nothing else to do; what hangs is found earlier.
  testTimeout: 300_000,
  maxWorkers: 1,
};
