/** Tokens of injected values without a class. */
export const CONFIG = Symbol('config');
export const LOG = Symbol('log');
export const REDIS = Symbol('redis');
