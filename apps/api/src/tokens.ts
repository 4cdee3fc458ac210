/** Tokens of injected values without a class. */
export const CONFIG = Symbol('config');
export const LOG = Symbol('log');
/** Undefined without traces. */
export const TRACING = Symbol('tracing');
export const REDIS = Symbol('redis');
