/** Receivers over HTTP are the same at every process of the API. */
export const CHANNEL_OPTIONS = {
  holder: 'http',
  /** A receiver counts as present for this time after each request, ms. */
  leaseMs: 60_000,
} as const;

/** How long a killed process holds an upload up, ms. */
export const UPLOAD_LEASE_MS = 5_000;
