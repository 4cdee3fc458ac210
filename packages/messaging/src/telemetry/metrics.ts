/** Everything that mailboxes, chats and files count and measure; the README lists them. */
import type { Metric } from '@mortise/redis';
import { FILE_METRICS } from '../files/metrics.js';

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
  ...FILE_METRICS,
];
