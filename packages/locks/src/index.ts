export type { LeaseEnd } from './errors.js';
export { LeaseLostError, LockTimeoutError } from './errors.js';
export type { Lease } from './lease.js';
export type { MutexState } from './mutex.js';
export { Mutex } from './mutex.js';
export type { AcquireOptions, MutexOptions } from './options.js';
