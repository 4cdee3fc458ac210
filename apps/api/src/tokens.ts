/** What is injected and has no class of its own. */
export const CONFIG = Symbol('config');
export const LOG = Symbol('log');
export const REDIS = Symbol('redis');
