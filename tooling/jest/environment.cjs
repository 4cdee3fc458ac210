const { AsyncLocalStorage } = require('node:async_hooks');
const { TestEnvironment } = require('jest-environment-node');

// jest-circus and some libraries make an AsyncLocalStorage for each test file. Before Node 24 one that has run
// stays enabled for as long as the process lives, and every promise of every later file pays for all of them.
const enabled = new Set();
for (const method of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[method];
  AsyncLocalStorage.prototype[method] = function enable(...args) {
    enabled.add(this);
    return original.apply(this, args);
  };
}

module.exports = class Environment extends TestEnvironment {
  async teardown() {
    for (const storage of enabled) storage.disable();
    enabled.clear();
    await super.teardown();
  }
};
