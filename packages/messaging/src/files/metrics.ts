import { metricsOf } from '@mortise/redis';

const metric = metricsOf('messaging');

/** With `mortise.messaging.direction`: `sent` or `read`. */
export const FILE_BYTES = metric('file_bytes', 'By', 'Bytes of files that were sent, or read by a receiver');
/** With `mortise.messaging.direction`: `sent` or `read`. */
export const FILE_CHUNKS = metric(
  'file_chunks',
  '{chunk}',
  'Chunks of files that were sent, or read by a receiver',
);
/** A histogram, with `mortise.messaging.room`: `window` of a file, or `budget` of a channel. */
export const FILE_WAITS = metric('file_waits', 's', 'Waits of senders of files for room');
