import type { ProblemKind } from './problem-kind.js';

export const CALLERS_PROBLEMS = {
  unauthenticated: {
    status: 401,
    title: 'The request has no valid credential',
    when: 'The header `Authorization` is missing, or its key is unknown, revoked or wrong; or the token or the session has ended or is not valid.',
    action: 'Send `Authorization: Bearer mk_…`.',
  },
  'scope-missing': {
    status: 403,
    title: 'The credential lacks the scope of the route',
    when: 'The credential lacks the scope of the route.',
    action: 'Give it the scope, or use another one.',
    fields: '`scope`',
  },
  'subject-mismatch': {
    status: 403,
    title: 'The credential acts for somebody else',
    when: 'The credential has a subject, and the request names somebody else as the one who acts, or nobody; or the route is for credentials without a subject.',
    action: 'Name the subject, or use a key without one.',
    fields: '`subject`',
  },
  'key-set-unavailable': {
    status: 503,
    title: 'The keys of the issuer of tokens cannot be fetched',
    when: "`JWT_JWKS_URL` doesn't answer, or not with keys.",
    action: 'Retry; look at the issuer.',
  },
  'unknown-key': {
    status: 404,
    title: 'There is no such API key',
    when: 'There is no API key of this id, or it is revoked.',
    action: 'PUT it.',
    fields: '`id`',
  },
  'too-many-keys': {
    status: 409,
    title: 'There are as many API keys as there may be',
    when: 'There are 10,000.',
    action: 'Revoke some.',
    fields: '`limit`',
  },
  'too-many-secrets': {
    status: 409,
    title: 'The API key has as many secrets as it may have',
    when: 'Four secrets of the key are still valid.',
    action: 'Wait for the end of an overlap, or rotate with `overlapMs` 0.',
    fields: '`id`, `limit`',
  },
  'other-tenant': {
    status: 409,
    title: 'The API key belongs to another tenant',
    when: 'The API key was created for another tenant, which never changes.',
    action: 'Use another id.',
    fields: '`tenant`',
  },
  'unknown-tenant': {
    status: 404,
    title: 'There is no such tenant',
    when: 'There is no tenant of this id.',
    action: 'PUT it.',
    fields: '`tenant`',
  },
  'too-many-tenants': {
    status: 409,
    title: 'There are as many tenants as there may be',
    when: 'There are 1,000.',
    action: 'Remove some.',
    fields: '`limit`',
  },
  'tenant-in-use': {
    status: 409,
    title: 'The tenant has API keys',
    when: 'The tenant has API keys.',
    action: 'Revoke them.',
    fields: '`id`',
  },
} as const satisfies Record<string, ProblemKind>;
