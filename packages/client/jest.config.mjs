export default { preset: '@mortise/jest', testTimeout: 60_000 };
