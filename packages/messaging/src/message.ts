/**
 * A message on the wire is `<id>:<offset>:<sentAt>:<payload>`. The server writes the head: the offset is the number of
 * bytes that the mailbox ever held before this entry, so the bytes of any stretch are one subtraction. The payload is
 * ours and opaque to it: `<sender, encoded>` NUL `<body as JSON>`; neither part can hold a NUL.
 */
import { decodeName, encodeName, requireName } from '@mortise/redis';

/** Ids of messages that were dropped unread, both included. */
export interface IdRange {
  readonly fromId: number;
  readonly toId: number;
}

/** A message as its recipient gets it. */
export interface Message<Body = unknown> {
  /** Dense within a mailbox: 1, 2, 3 … */
  readonly id: number;
  readonly from: string;
  readonly body: Body;
  /** When the server took it, in ms since 1970, by the server's clock. Never less than that of the message before. */
  readonly sentAt: number;
  /** The messages right before this one that were dropped unread. Absent when there are none. */
  readonly droppedBefore?: IdRange;
}

const SEPARATOR = '\0';

/** Throws TypeError or RangeError for a sender that is no name, and TypeError for a body that is no JSON value. */
export function toPayload(from: string, body: unknown): { payload: string; bodyBytes: number } {
  const json = JSON.stringify(body) as string | undefined;
  if (json === undefined) throw new TypeError(`body must be a JSON value, got ${typeof body}`);
  return {
    payload: encodeName(requireName('from', from)) + SEPARATOR + json,
    bodyBytes: Buffer.byteLength(json),
  };
}

/** @param dropped What the mailbox dropped unread: the message right behind it tells its reader. */
export function toMessage<Body>(entry: string, dropped: IdRange | undefined): Message<Body> {
  const separator = entry.indexOf(SEPARATOR);
  const [id, , sentAt, ...from] = entry.slice(0, separator).split(':');
  const message = {
    id: Number(id),
    from: decodeName(from.join(':')),
    body: JSON.parse(entry.slice(separator + 1)) as Body,
    sentAt: Number(sentAt),
  };
  return dropped?.toId === message.id - 1 ? { ...message, droppedBefore: dropped } : message;
}

/** The range, or undefined when it is empty. */
export function toRange(fromId: number, toId: number): IdRange | undefined {
  return fromId > 0 && fromId <= toId ? { fromId, toId } : undefined;
}
