import type { EndReason } from './live-streams.js';

/** A client that was told to go has so long to hear it and to close the connection, ms. */
const CUT_MS = 10_000;
/** And from a server that ends. */
const CUT_AFTER_SHUTDOWN_MS = 500;

export function closeTimeoutMs(reason?: EndReason): number {
  return reason === 'shutting-down' ? CUT_AFTER_SHUTDOWN_MS : CUT_MS;
}
