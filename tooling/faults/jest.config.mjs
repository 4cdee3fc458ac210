// The long suite has a configuration of its own: long.config.mjs.
export default {
  preset: '@mortise/jest',
  testMatch: ['<rootDir>/test/*.test.ts'],
  // Each file starts processes of its own, and the apps give up on a server that doesn't answer in time.
  maxWorkers: 1,
};
