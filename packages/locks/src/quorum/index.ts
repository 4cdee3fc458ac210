export { QuorumNodeTimeoutError, QuorumUnreachableError } from '../errors.js';
export type { QuorumMutexState } from './quorum-mutex.js';
export { QuorumMutex } from './quorum-mutex.js';
export type { QuorumMutexOptions } from './quorum-options.js';
