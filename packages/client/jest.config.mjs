export default { preset: '@mortise/jest' };
