/** Fast: Node, jest and this TypeScript. Older compilers and other tools: modules.config.mjs. */
export default {
  preset: '@mortise/jest',
  testPathIgnorePatterns: ['/test/(?:keyv|modules|nextjs|.*\\.slow)\\.test\\.ts$'],
};
