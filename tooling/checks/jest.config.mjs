/** The checks that read the whole repository. Those of packed packages depend on less, so turbo caches them: packages.config.mjs. */
export default { preset: '@mortise/jest', testPathIgnorePatterns: ['/test/packages\\.test\\.ts$'] };
