// The longest suite, which begins last: without a second worker it runs alone at the end.
export default { preset: '@mortise/jest', maxWorkers: 2 };
