/** The metrics of files, for docs/messaging/reference/metrics.md. */
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('messaging');

/** The values of `mortise.messaging.direction`. */
export const SENT = { 'mortise.messaging.direction': 'sent' };
export const READ = { 'mortise.messaging.direction': 'read' };

/** `mortise.messaging.direction` is `sent` or `read`. */
export const FILE_BYTES = /* @__PURE__ */ metric(
  'file_bytes',
  'By',
  'Bytes of files that were sent, or read by a receiver',
);
/** `mortise.messaging.direction` is `sent` or `read`. */
export const FILE_CHUNKS = /* @__PURE__ */ metric(
  'file_chunks',
  '{chunk}',
  'Chunks of files that were sent, or read by a receiver',
);
/** `mortise.messaging.room` is `window` (of a file) or `budget` (of a channel). */
export const FILE_WAITS = /* @__PURE__ */ metric('file_waits', 's', 'Waits of senders of files for room');
