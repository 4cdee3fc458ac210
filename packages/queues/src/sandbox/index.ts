export { SandboxExitedError } from '../errors.js';
export type { SandboxOptions } from './options.js';
export type { SandboxHandler } from './sandbox.js';
export { sandbox } from './sandbox.js';
