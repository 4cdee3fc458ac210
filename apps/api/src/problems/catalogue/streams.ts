import type { ProblemKind } from './problem-kind.js';

export const STREAMS_PROBLEMS = {
  'invalid-token': {
    status: 400,
    title: 'The token belongs to no event of this stream',
    when: '`after` or `Last-Event-ID` is not the token of an event of this member, or of these topics.',
    action: "Begin without one: a member at what isn't acked, other topics with now.",
  },
  'invalid-frame': {
    status: 400,
    title: 'The frame is invalid',
    when: 'A frame of a WebSocket is no JSON, not one of those that there are, comes before `subscribe`, or follows a topic twice. Three in a row close the socket with 1008.',
    action: 'Mend the client.',
  },
  'unknown-topic': {
    status: 404,
    title: 'There is no such topic',
    when: 'The topic `market` with a credential of another tenant than `default`.',
    fields: '`topic`',
  },
  'foreign-origin': {
    status: 403,
    title: 'Pages of this origin may not use the API',
    when: 'A page of another origin than `ALLOWED_ORIGINS`, or, without these, of another host opens a stream or changes something.',
    action: 'Add the origin.',
  },
  'upgrade-required': {
    status: 426,
    title: 'The address is that of a WebSocket',
    when: "`GET /v1/ws` that doesn't ask for a WebSocket.",
    action: 'Ask for it.',
  },
} as const satisfies Record<string, ProblemKind>;
