import type { ProblemKind } from './problem-kind.js';

export const STREAMS_PROBLEMS = {
  'invalid-token': {
    status: 400,
    title: 'The token belongs to no event of this stream',
    when: '`after` or `Last-Event-ID` is not the token of an event of this member, or of these topics.',
    action:
      'Begin without a token. The stream of a member then begins at the unread messages, other topics begin now.',
  },
  'invalid-frame': {
    status: 400,
    title: 'The frame is invalid',
    when: 'A frame of a WebSocket is no JSON, is of an unknown kind, comes before `subscribe`, or follows a topic twice. Three such frames in a row close the socket with 1008.',
    action: 'Correct the client.',
  },
  'unknown-topic': {
    status: 404,
    title: 'There is no such topic',
    when: 'The topic is `market`, and the credential is of another tenant than `default`.',
    fields: '`topic`',
  },
  'foreign-origin': {
    status: 403,
    title: 'Pages of this origin may not use the API',
    when: 'A page of an origin outside `ALLOWED_ORIGINS` opened a stream or changed something. Without this setting, a page of another host did so.',
    action: 'Add the origin.',
  },
  'upgrade-required': {
    status: 426,
    title: 'The address is that of a WebSocket',
    when: "The request `GET /v1/ws` doesn't ask for a WebSocket.",
    action: 'Ask for the upgrade.',
  },
} as const satisfies Record<string, ProblemKind>;
