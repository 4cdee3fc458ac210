/** The headers of answers, as the OpenAPI document describes them. */

interface HeaderKind {
  readonly description: string;
  readonly schema: { readonly type: 'string' | 'integer' | 'number' };
}

const text = (description: string): HeaderKind => ({ description, schema: { type: 'string' } });
const whole = (description: string): HeaderKind => ({ description, schema: { type: 'integer' } });

export const RESPONSE_HEADERS = {
  'Accept-Ranges': text('`bytes`: a part can be asked for by `Range`.'),
  Age: whole('Seconds for which the content may have been outdated.'),
  'Content-Digest': text('The SHA-256 of the body, by RFC 9530.'),
  'Content-Range': text('Which bytes of the file these are.'),
  ETag: text('Names this version of the content, for `If-Match` and `If-None-Match`.'),
  Location: text('The address of what was created.'),
  'Payload-Codecs': text('The codecs of payloads and results that a program has encoded, such as `br, aes`.'),
  RateLimit: text(
    'For each limit: `r` requests remain; the whole limit is available again after `t` seconds.',
  ),
  'RateLimit-Policy': text('The limits of the caller: `q` requests in `w` seconds.'),
  'Repr-Digest': text('The SHA-256 of the whole file, by RFC 9530.'),
  'Retry-After': whole('Seconds after which the request may be sent again.'),
  'Server-Timing': text(
    'How long the completion took at the API, with its round trip to Redis: `dur` in ms.',
  ),
  'Set-Cookie': text('The session: HttpOnly, SameSite=Strict.'),
  'WWW-Authenticate': text('The scheme of the credential, and what is wrong with this one.'),
  'X-Next-Refresh': { description: 'Seconds until the row is loaded next.', schema: { type: 'number' } },
  'X-Refresh-Failures': whole('Loads in a row that failed, where the last one did.'),
  'X-Request-Id': text('The id of the request, as in the logs.'),
} as const satisfies Record<string, HeaderKind>;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** References to the headers, as responses of the document have them. */
export function headerRefs(names: readonly ResponseHeader[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
