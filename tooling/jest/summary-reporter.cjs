const { mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');

/** Writes .jest/summary.json, so that a run that turbo takes from its cache still counts its tests. */
module.exports = class SummaryReporter {
  constructor(globalConfig) {
    this.directory = path.join(globalConfig.rootDir, '.jest');
  }

  onRunComplete(_contexts, results) {
    mkdirSync(this.directory, { recursive: true });
    const summary = {
      passed: results.numPassedTests,
      // A suite that cannot even be loaded has no test to count, but it is a failure.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    writeFileSync(path.join(this.directory, 'summary.json'), `${JSON.stringify(summary)}\n`);
  }
};
