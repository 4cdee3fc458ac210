/**
 * Which methods of the exported classes a program has called: a smoke test that leaves one out isn't done. The methods are replaced
 * in place, so that calls by the package itself count as well: a verb that is a shorthand for another one covers both.
 */
export class Verbs {
  /** Name of each method or accessor, and whether it was used. */
  #used = new Map();
  #watched = new Set();

  /** Every class of a module, but errors: those are what a refusal looks like. */
  constructor(...modules) {
    for (const module of modules) {
      for (const [name, value] of Object.entries(module)) {
        if (typeof value !== 'function' || value.prototype === undefined) continue;
        if (value.prototype instanceof Error) continue;
        this.#watch(value.prototype, name);
        this.#watch(value, name, ['length', 'name', 'prototype', 'arguments', 'caller']);
      }
    }
  }

  /** An object whose class isn't exported, but for methods that only the package calls; returns it. */
  watch(object, name, except = []) {
    this.#watch(Object.getPrototypeOf(object), name, except);
    return object;
  }

  /** Names of what no call has used. */
  missing() {
    return [...this.#used].filter(([, isUsed]) => !isUsed).map(([name]) => name);
  }

  get count() {
    return this.#used.size;
  }

  #watch(owner, name, except = []) {
    if (owner === null || owner === Object.prototype || owner === Function.prototype) return;
    if (this.#watched.has(owner)) return;
    this.#watched.add(owner);
    for (const key of Reflect.ownKeys(owner)) {
      if (key === 'constructor' || except.includes(key)) continue;
      const descriptor = Object.getOwnPropertyDescriptor(owner, key);
      // oxlint-disable-next-line typescript/unbound-method -- the replacement calls it with its own `this`
      const called = descriptor.get ?? descriptor.value;
      if (typeof called !== 'function' || !descriptor.configurable) continue;
      const verb = `${name}.${typeof key === 'symbol' ? `[${key.description.replace(/.*\./, '')}]` : key}`;
      this.#used.set(verb, false);
      const used = this.#used;
      const replacement = function replacement(...args) {
        used.set(verb, true);
        return called.apply(this, args);
      };
      if (descriptor.get) Object.defineProperty(owner, key, { ...descriptor, get: replacement });
      else Object.defineProperty(owner, key, { ...descriptor, value: replacement });
    }
    this.#watch(Object.getPrototypeOf(owner), `${name}~`, except);
  }
}
