import type { EndReason } from './live-streams.js';

/** How long a dropped client has to close the connection, ms. */
const CUT_MS = 10_000;
/** The same while the server shuts down. */
const CUT_AFTER_SHUTDOWN_MS = 500;

export function closeTimeoutMs(reason?: EndReason): number {
  return reason === 'shutting-down' ? CUT_AFTER_SHUTDOWN_MS : CUT_MS;
}
