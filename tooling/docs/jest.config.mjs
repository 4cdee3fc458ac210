/** No test here needs Redis. */
export default { preset: '@mortise/jest', globalSetup: null, globalTeardown: null };
