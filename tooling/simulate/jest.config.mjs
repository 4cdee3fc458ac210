export default { preset: '@mortise/jest', maxWorkers: 1 };
