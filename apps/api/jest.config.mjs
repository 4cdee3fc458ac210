// Two workers also on two cores: much of these tests is waiting for a Redis that is down.
export default { preset: '@mortise/jest', maxWorkers: 2 };
