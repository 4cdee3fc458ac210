/** Receivers that come over HTTP are the same ones at every process of the API. */
export const CHANNEL_OPTIONS = {
  holder: 'http',
  /** A receiver is taken for present for so long after each request, ms. */
  leaseMs: 60_000,
} as const;

/** A process that was killed holds an upload up for so long, ms. */
export const UPLOAD_LEASE_MS = 5_000;
