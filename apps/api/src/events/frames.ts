/** The frames of a WebSocket: requests of clients, and their answers. */
import type { PostResult } from '@mortise/messaging';
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { parseJsonBody } from '../http/json-body.js';
import type { ProblemFields } from '../problems/problem.js';
import { Problem } from '../problems/problem.js';
import { ackEpoch } from '../messaging/chat-schemas.js';
import type { StreamEvent } from '../messaging/live/forward-events.js';
import { body, senderId, upToId } from '../messaging/schemas.js';
import { topicSchema } from './topics.js';

/** A message of 65,536 bytes, and the rest of its frame. */
export const MAX_FRAME_BYTES = 65_536 + 4_096;

const VERBS = ['subscribe', 'ack', 'typing', 'post', 'follow', 'unfollow'] as const;
const SUBSCRIBE_OPTIONS = ['includeMuted', 'includeUnread'] as const;

const refSchema = z.union([z.string().max(64), z.int()]);

const frameSchema = z
  .strictObject({
    /** The member who follows, acks, types and posts. */
    subscribe: nameSchema.optional(),
    /** The token of the last handled event. */
    after: z.string().optional(),
    includeMuted: z.boolean().optional(),
    /** Events of messages have `unread`. */
    includeUnread: z.boolean().optional(),
    ack: z.strictObject({ chatId: nameSchema, upToId, epoch: ackEpoch }).optional(),
    typing: nameSchema.optional(),
    post: z.strictObject({ chatId: nameSchema, body, id: senderId }).optional(),
    follow: topicSchema.optional(),
    unfollow: topicSchema.optional(),
    /** Repeated in the answer. */
    ref: refSchema.optional(),
  })
  .refine(
    (frame) => VERBS.filter((verb) => frame[verb] !== undefined).length === 1,
    `must have one of ${VERBS.join(', ')}`,
  )
  .refine(
    ({ subscribe, ...options }) =>
      subscribe !== undefined || SUBSCRIBE_OPTIONS.every((option) => options[option] === undefined),
    `${SUBSCRIBE_OPTIONS.join(', ')} go together with subscribe`,
  )
  .refine(
    ({ subscribe, follow, after }) => after === undefined || subscribe !== undefined || follow !== undefined,
    'after goes together with subscribe or follow',
  );

export type Frame = z.infer<typeof frameSchema>;
/** The operation that a frame asks for. */
export function verbOf(frame: Frame): string {
  return VERBS.find((verb) => frame[verb] !== undefined)!;
}

export type Ref = string | number;

/** An event of the member, or of a topic. */
export type SentEvent = Pick<StreamEvent, 'type' | 'token'>;

/** The frames that a client gets: an answer to each of its own, and events. */
export type ServerFrame = { readonly ref?: Ref } & (
  | { readonly subscribed: string }
  | { readonly acked: { readonly chatId: string; readonly ackedId: number } }
  | { readonly typed: { readonly chatId: string } }
  | { readonly posted: { readonly chatId: string } & PostResult }
  | { readonly error: ProblemFields }
  | { readonly followed: string; readonly token: string }
  | { readonly unfollowed: string }
  | { readonly event: SentEvent }
);

/** The JSON of a frame. Throws the problem `invalid-frame`. */
export function parseFrame(data: Buffer, isBinary: boolean): unknown {
  if (isBinary) throw new Problem('invalid-frame', 'it is binary, not text');
  return parse(data);
}

/** The `ref` of a frame, for its answer, however invalid the rest is. */
export function refOf(value: unknown): Ref | undefined {
  const { success, data } = refSchema.safeParse((value as { ref?: unknown } | null)?.ref);
  return success ? data : undefined;
}

/** Throws the problem `invalid-frame`. */
export function checkFrame(value: unknown): Frame {
  const { success, data: frame, error } = frameSchema.safeParse(value);
  if (success) return frame;
  const [issue] = error.issues;
  const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  throw new Problem('invalid-frame', `${where}${issue?.message ?? ''}`.slice(0, 200));
}

function parse(data: Buffer): unknown {
  try {
    return parseJsonBody(data);
  } catch (error) {
    const { detail } = error as Problem;
    throw new Problem('invalid-frame', detail ?? 'it is not JSON', {}, { cause: error });
  }
}
