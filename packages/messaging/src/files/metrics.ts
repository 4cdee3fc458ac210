import type { Metric } from '@mortise/redis';

const PREFIX = 'mortise.messaging.';

/** With `mortise.messaging.direction`: `sent` or `read`. */
export const FILE_BYTES: Metric = {
  name: `${PREFIX}file_bytes`,
  unit: 'By',
  description: 'Bytes of files that were sent, or read by a receiver',
};
/** With `mortise.messaging.direction`: `sent` or `read`. */
export const FILE_CHUNKS: Metric = {
  name: `${PREFIX}file_chunks`,
  unit: '{chunk}',
  description: 'Chunks of files that were sent, or read by a receiver',
};
/** A histogram, with `mortise.messaging.room`: `window` of a file, or `budget` of a channel. */
export const FILE_WAITS: Metric = {
  name: `${PREFIX}file_waits`,
  unit: 's',
  description: 'Waits of senders of files for room',
};

export const FILE_METRICS: readonly Metric[] = [FILE_BYTES, FILE_CHUNKS, FILE_WAITS];
