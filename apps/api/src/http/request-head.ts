import type { IncomingMessage } from 'node:http';

import { Problem } from '../problems/problem.js';

/** The entry of a list in `Expect` that Node accepts as 100-continue. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Refuses requests that HTTP/1.1 forbids to serve. Node would refuse them with an empty body instead of a problem. */
export function requireSoundHead({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion !== '1.1') return;
  if (headers.host === undefined) throw new Problem('malformed-request', 'the header Host is missing');
  if (headers.expect !== undefined && !CONTINUE.test(headers.expect)) throw new Problem('expectation-failed');
}
