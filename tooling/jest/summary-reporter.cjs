const { mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');

/**
 * Writes .jest/summary.json, or another `file` there: counts, so that a run from turbo's cache still counts its tests; the time
 * of each file; and the failures, which `npm test` repeats at its end, where a log that kept only its tail still has them.
 */
module.exports = class SummaryReporter {
  constructor(globalConfig, { file = 'summary.json' } = {}) {
    this.root = globalConfig.rootDir;
    this.directory = path.join(this.root, '.jest');
    this.file = file;
  }

  onRunComplete(_contexts, results) {
    mkdirSync(this.directory, { recursive: true });
    const summary = {
      passed: results.numPassedTests,
      // A file that cannot be loaded has no test to count, but it is a failure.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      ms: Date.now() - results.startTime,
      files: results.testResults.map(({ testFilePath, perfStats }) => ({
        file: path.relative(this.root, testFilePath),
        ms: perfStats.runtime,
      })),
      failures: results.testResults.flatMap((suite) => this.failuresOf(suite)),
    };
    writeFileSync(path.join(this.directory, this.file), `${JSON.stringify(summary)}\n`);
  }

  failuresOf(suite) {
    const file = path.relative(this.root, suite.testFilePath);
    if (suite.testExecError) return [{ file, name: 'could not be run', message: suite.failureMessage ?? '' }];
    return suite.testResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ file, name: test.fullName, message: test.failureMessages.join('\n') }));
  }
};
