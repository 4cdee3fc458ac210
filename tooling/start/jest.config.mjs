export default { preset: '@mortise/jest', globalSetup: undefined, globalTeardown: undefined };
