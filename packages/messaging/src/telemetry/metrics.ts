/** Everything that mailboxes, chats and files count and measure; the README lists them. */
import type { Metric } from '@mortise/redis';

const metric = (name: string, unit: string, description: string): Metric => ({
  name: `mortise.messaging.${name}`,
  unit,
  description,
});

export const POSTED = metric('posted', '{message}', 'Messages that were stored, duplicates not counted');
export const DUPLICATES = metric('duplicates', '{message}', 'Messages that had been stored before');
export const DROPPED = metric(
  'dropped',
  '{message}',
  'Entries that limits dropped before all had acked them',
);
export const PULLED = metric('pulled', '{message}', 'Messages and events that were read, each time');
export const ACKS = metric('acks', '{ack}', 'Acks that were accepted');
export const FOLLOWED = metric('followed', '{event}', 'Events that followers were handed');
export const FETCHED = metric(
  'fetched',
  '{page}',
  'Pages that followers had to fetch, not having been pushed them',
);
export const GAPS = metric('gaps', '{gap}', 'Readers and followers that were told of a gap');
export const RESYNCS = metric('resyncs', '{channel}', 'Channels of followers that were interrupted');
export const UNREADABLE = metric(
  'unreadable',
  '{chat}',
  'Chats that readers were not given because what is stored of them is damaged',
);
/** A histogram. */
export const BATCH = metric('batch', '{message}', 'Messages that one script call took, duplicates included');
/** With `mortise.messaging.direction`: `sent` or `read`. */
export const FILE_BYTES = metric('file_bytes', 'By', 'Bytes of files that were sent, or read by a receiver');
export const FILE_CHUNKS = metric('file_chunks', '{chunk}', 'Chunks that they came in');
/** A histogram, with `mortise.messaging.room`: `window` of a file, or `budget` of a channel. */
export const FILE_WAITS = metric('file_waits', 's', 'Waits of senders of files for room');

export const METRICS: readonly Metric[] = [
  POSTED,
  DUPLICATES,
  DROPPED,
  PULLED,
  ACKS,
  FOLLOWED,
  FETCHED,
  GAPS,
  RESYNCS,
  UNREADABLE,
  BATCH,
  FILE_BYTES,
  FILE_CHUNKS,
  FILE_WAITS,
];
