import type { ProblemKind } from './problem-kind.js';

export const WEBHOOKS_PROBLEMS = {
  'url-not-allowed': {
    status: 422,
    title: 'No webhook is sent to this URL',
    when: "The URL isn't `https://` or `http://`, cannot be parsed, has a user, a password or a fragment, or is longer than 2,048 characters. Private addresses are refused later: the worker finds them, and the task is dead.",
    action: 'Use another URL.',
  },
} as const satisfies Record<string, ProblemKind>;
