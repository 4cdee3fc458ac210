export { consoleHandler } from './console-handler.js';
export type { ConsoleHandler } from './console-handler.js';
export type { ConsoleRequest, ConsoleResponse, ConsoleRight } from './http/http-call.js';
export type { ConsoleAction, ConsoleOptions } from './options.js';
export { DEFAULTS } from './options.js';
