import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { Problem } from '../problems/problem.js';

/** The entry of a list in `Expect` that Node accepts as 100-continue. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Browsers and proxies send a few dozen. */
const MAX_HEADERS = 100;

/** Refuses requests that HTTP/1.1 forbids to serve. Node would refuse them with an empty body instead of a problem. */
export function requireSoundHead({ httpVersion, headers, rawHeaders, url = '' }: IncomingMessage): void {
  // A proxy may read the other one than this server.
  if (rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1)
    throw new Problem('malformed-request', 'the header Host comes twice');
  if (rawHeaders.length > 2 * MAX_HEADERS)
    throw new Problem('headers-too-large', `more than ${MAX_HEADERS} headers`);
  requireDecodableQuery(url);
  if (httpVersion !== '1.1') return;
  if (headers.host === undefined) throw new Problem('malformed-request', 'the header Host is missing');
  if (headers.expect !== undefined && !CONTINUE.test(headers.expect)) throw new Problem('expectation-failed');
}

/** A `%` that is no encoding of UTF-8 would become a character that nobody sent. */
function requireDecodableQuery(url: string): void {
  const at = url.indexOf('?');
  if (at < 0 || !url.includes('%', at)) return;
  try {
    decodeURIComponent(url.slice(at));
  } catch {
    throw new Problem('malformed-url');
  }
}

const UTF_8 = /^utf-?8$/i;

/** Refuses a body of JSON in another coding or charset: it would be read as plain UTF-8. */
export function requirePlainBody({
  'content-encoding': coding = 'identity',
  'content-type': type = '',
}: IncomingHttpHeaders): void {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type) ?? [];
  if (coding.toLowerCase() !== 'identity')
    throw new Problem('unsupported-media-type', 'the body must have no Content-Encoding');
  if (!UTF_8.test(charset)) throw new Problem('unsupported-media-type', 'the charset must be UTF-8');
}
