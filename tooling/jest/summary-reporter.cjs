const { mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');

/**
 * Writes .jest/summary.json: counts, so that a run that turbo takes from its cache still counts its tests, and what
 * failed, which `npm test` repeats at its end, where it is found even in a log that kept only its tail.
 */
module.exports = class SummaryReporter {
  constructor(globalConfig) {
    this.root = globalConfig.rootDir;
    this.directory = path.join(this.root, '.jest');
  }

  onRunComplete(_contexts, results) {
    mkdirSync(this.directory, { recursive: true });
    const summary = {
      passed: results.numPassedTests,
      // A suite that cannot even be loaded has no test to count, but it is a failure.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      failures: results.testResults.flatMap((suite) => this.failuresOf(suite)),
    };
    writeFileSync(path.join(this.directory, 'summary.json'), `${JSON.stringify(summary)}\n`);
  }

  failuresOf(suite) {
    const file = path.relative(this.root, suite.testFilePath);
    if (suite.testExecError) return [{ file, name: 'could not be run', message: suite.failureMessage ?? '' }];
    return suite.testResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ file, name: test.fullName, message: test.failureMessages.join('\n') }));
  }
};
