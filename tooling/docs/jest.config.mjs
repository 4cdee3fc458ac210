/** The test that needs Redis starts its own: other libraries don't obey the slot rules of the common one. */
export default { preset: '@mortise/jest', globalSetup: null, globalTeardown: null };
