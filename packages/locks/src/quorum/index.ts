export type { LeaseEnd } from '@mortise/redis';
export { ClientClosedError, LeaseLostError } from '@mortise/redis';
export type { Telemetry } from '@mortise/redis';
export { LockTimeoutError, QuorumUnreachableError } from '../errors.js';
export type { Lease } from '../lease/lease.js';
export type { AcquireOptions } from '../options.js';
export type { QuorumMutexState } from './quorum-mutex.js';
export { QuorumMutex } from './quorum-mutex.js';
export type { QuorumMutexOptions } from './quorum-options.js';
