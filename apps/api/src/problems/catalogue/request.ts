import type { ProblemKind } from './problem-kind.js';

export const REQUEST_PROBLEMS = {
  'malformed-request': {
    status: 400,
    title: 'The request is not HTTP that the server understands',
    when: "The request isn't HTTP, has no `Host` or two, or its length is not the announced one.",
    action: 'Correct the client.',
  },
  'malformed-url': {
    status: 400,
    title: 'The address of the request cannot be decoded',
    when: 'The address or the query has a `%` that is no encoding of UTF-8.',
    action: 'Encode the parts of the address.',
  },
  'malformed-json': {
    status: 400,
    title: 'The body is not JSON',
    when: 'The body is missing, empty, no JSON, or not UTF-8.',
    action: 'Correct the body.',
  },
  'invalid-body': {
    status: 400,
    title: 'The body is not what the route takes',
    when: 'A member is missing, unknown, of another type or out of range. The body may also have more than 64 levels, a key `__proto__`, `constructor` or `prototype`, or half of a surrogate pair.',
    action: 'Compare with `/openapi.json`.',
    fields: '`errors`: up to 20 of `pointer` and `message`',
  },
  'invalid-query': {
    status: 400,
    title: 'The query is not what the route takes',
    when: 'A parameter of the query is missing, unknown, of another type or out of range.',
    action: 'Compare with `/openapi.json`.',
    fields: '`errors`',
  },
  'invalid-id': {
    status: 400,
    title: 'An id has characters or a length that ids cannot have',
    when: 'A name in the address is `.` or `..`, or has more than 1,024 bytes (900 for the key of a schedule). Ids of the market and of guilds have 1 to 128 characters of `A-Z a-z 0-9 . _ ~ @ : -`. Contacts have no control characters.',
    action: 'Use another id.',
    fields: '`parameter`',
  },
  'invalid-cursor': {
    status: 400,
    title: 'The cursor is not from a page of this list',
    when: 'The cursor is not `nextCursor` of a page of this list, in this order.',
    action: 'Begin at the first page.',
  },
  'invalid-idempotency-key': {
    status: 400,
    title: 'The header Idempotency-Key is not a key',
    when: 'The header is not 1 to 128 characters of `A-Z a-z 0-9 . _ ~ @ : -`, with or without quotes.',
    action: 'Use a UUID.',
  },
  'foreign-host': {
    status: 403,
    title: 'The API is not served under this host name',
    when: 'The header `Host` names none of `ALLOWED_HOSTS`. Without this setting, an API on loopback answers only under loopback names.',
    action: 'Add the name.',
  },
  'unknown-route': {
    status: 404,
    title: 'There is nothing at this address',
    when: 'There is no such address. Or the address concerns the deployment, and the credential is of another tenant than `default`.',
    action: 'See `/docs`.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The address does not take this method',
    when: 'The address has other methods; the header `Allow` names them. `CONNECT` has no address at all.',
    action: 'See `/docs`.',
    fields: '`allowed`',
  },
  'request-timeout': {
    status: 408,
    title: 'The request did not arrive in time',
    when: 'The head took longer than 5 s, or the body longer than 10 s. An upload sent nothing for `STREAM_TIMEOUT_MS`.',
    action: 'Send faster.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is larger than the route takes',
    when: 'The body has more than 65,536 bytes. Larger limits hold for tasks and batches of names (1,048,576), results (524,288) and messages (131,072, of which the `body` 65,536).',
    action: 'Send less.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The body is of a type that the route does not take',
    when: 'The body is not `application/json`. For an upload: the body is not `application/octet-stream`, or has a `Content-Encoding`.',
    action: 'Set `Content-Type`.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The server meets no expectation but 100-continue',
    when: 'The header `Expect` asks for something other than `100-continue`.',
    action: 'Leave the header out.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The head of the request has more than 16 KiB, or too many headers',
    when: 'Address and headers have more than 16 KiB, or there are more than 100 headers.',
    action: 'Send less.',
  },
} as const satisfies Record<string, ProblemKind>;
