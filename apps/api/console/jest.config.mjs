// One browser for each file of tests; more at once would only wait for each other.
export default { preset: '@mortise/jest', maxWorkers: 2 };
