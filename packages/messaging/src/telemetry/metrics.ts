/** The metrics of mailboxes and chats, for docs/messaging/reference/metrics.md. */
import type { TelemetryAttributes } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('messaging');

/** Labels of every count. There are too many names of chats, members and recipients for a metric. */
export function telemetryAttributes(kind: 'chat' | 'mailbox'): TelemetryAttributes {
  return { 'messaging.system': 'mortise', 'mortise.messaging.kind': kind };
}

/** `send`, `post` and `create` store them. */
export const POSTED = /* @__PURE__ */ metric(
  'posted',
  '{message}',
  'Messages that were stored, duplicates not counted',
);
/** A caller sent them again with a known id. */
export const DUPLICATES = /* @__PURE__ */ metric(
  'duplicates',
  '{message}',
  'Messages that had been stored before',
);
/** Senders count what they learn of. */
export const DROPPED = /* @__PURE__ */ metric(
  'dropped',
  '{message}',
  'Entries that limits dropped before all had acked them',
);
/** `receive` and `pull` returned them. */
export const PULLED = /* @__PURE__ */ metric(
  'pulled',
  '{message}',
  'Messages and events that were read, each time',
);
/** Those of `autoAck` and `clear` count too. */
export const ACKS = /* @__PURE__ */ metric('acks', '{ack}', 'Acks that were accepted');
/** `mortise.messaging.event` is the type of the event. */
export const FOLLOWED = /* @__PURE__ */ metric('followed', '{event}', 'Events that followers delivered');
export const FETCHED = /* @__PURE__ */ metric(
  'fetched',
  '{page}',
  'Pages that followers fetched because their entries were not pushed',
);
/** Each report of a gap counts. */
export const GAPS = /* @__PURE__ */ metric('gaps', '{gap}', 'Gaps that readers and followers reported');
/** They count when their subscription is whole again. */
export const RESYNCS = /* @__PURE__ */ metric(
  'resyncs',
  '{channel}',
  'Channels of followers that were interrupted',
);
/** `pull`, `chatsOf` and `follow` count them each time. */
export const UNREADABLE = /* @__PURE__ */ metric(
  'unreadable',
  '{chat}',
  'Chats that readers left out because their stored data is damaged',
);
/** `receive` records it for a mailbox, `pull` for each chat. */
export const LAG = /* @__PURE__ */ metric(
  'lag',
  's',
  'The age of the oldest unread message of a mailbox or chat when it was read, each time',
);
export const BATCH = /* @__PURE__ */ metric(
  'batch',
  '{message}',
  'Messages that one script call took, duplicates included',
);
