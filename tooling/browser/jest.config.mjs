// These tests wait for servers far more than they compute.
export default { preset: '@mortise/jest', maxWorkers: 4 };
