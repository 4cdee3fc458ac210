/** The metrics of mailboxes and chats; the documents list them, with those of files. */
import type { TelemetryAttributes } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('messaging');

/** Labels of every count. There are too many names of chats, members and recipients for a metric. */
export function telemetryAttributes(kind: 'chat' | 'mailbox'): TelemetryAttributes {
  return { 'messaging.system': 'mortise', 'mortise.messaging.kind': kind };
}

export const POSTED = /* @__PURE__ */ metric(
  'posted',
  '{message}',
  'Messages that were stored, duplicates not counted',
);
export const DUPLICATES = /* @__PURE__ */ metric(
  'duplicates',
  '{message}',
  'Messages that had been stored before',
);
export const DROPPED = /* @__PURE__ */ metric(
  'dropped',
  '{message}',
  'Entries that limits dropped before all had acked them',
);
export const PULLED = /* @__PURE__ */ metric(
  'pulled',
  '{message}',
  'Messages and events that were read, each time',
);
export const ACKS = /* @__PURE__ */ metric('acks', '{ack}', 'Acks that were accepted');
export const FOLLOWED = /* @__PURE__ */ metric('followed', '{event}', 'Events that followers delivered');
export const FETCHED = /* @__PURE__ */ metric(
  'fetched',
  '{page}',
  'Pages that followers fetched because their entries were not pushed',
);
export const GAPS = /* @__PURE__ */ metric('gaps', '{gap}', 'Gaps that readers and followers reported');
export const RESYNCS = /* @__PURE__ */ metric(
  'resyncs',
  '{channel}',
  'Channels of followers that were interrupted',
);
export const UNREADABLE = /* @__PURE__ */ metric(
  'unreadable',
  '{chat}',
  'Chats that readers left out because their stored data is damaged',
);
/** A histogram. */
export const LAG = /* @__PURE__ */ metric(
  'lag',
  's',
  'The age of the oldest unread message of a mailbox or chat when it was read, each time',
);
/** A histogram. */
export const BATCH = /* @__PURE__ */ metric(
  'batch',
  '{message}',
  'Messages that one script call took, duplicates included',
);
