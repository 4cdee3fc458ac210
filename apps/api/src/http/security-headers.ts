/** The headers of every answer that tell browsers what a page may do with it. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import type { Config } from '../config.js';

/** For answers that are no page: they load nothing, and no page shows them in a frame. */
const NO_PAGE = "default-src 'none'; frame-ancestors 'none'";

/** Swagger UI has styles of its own in the page, and pictures in its styles. */
const DOCS_PAGE = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** The policy of the console, which its build writes beside the page. */
const CONSOLE_POLICY = fileURLToPath(
  new URL('../../console/dist/content-security-policy.txt', import.meta.url),
);

const DOCS = /^\/docs(?:[/?]|$)/;
const CONSOLE = /^\/console(?:[/?]|$)/;

export type SecurityHeaders = (address: string) => Record<string, string>;

/** The headers by the address of a request. */
export function securityHeadersOf({ HSTS_MAX_AGE_S: maxAge }: Config): SecurityHeaders {
  const headers = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    ...(maxAge > 0 && { 'strict-transport-security': `max-age=${maxAge}; includeSubDomains` }),
  };
  const noPage = { ...headers, 'content-security-policy': NO_PAGE };
  const docs = { ...headers, 'content-security-policy': DOCS_PAGE };
  const page = { ...headers, 'content-security-policy': consolePolicy() };
  return (address) => (DOCS.test(address) ? docs : CONSOLE.test(address) ? page : noPage);
}

/** Without a built page there is nothing to load. */
function consolePolicy(): string {
  return existsSync(CONSOLE_POLICY) ? readFileSync(CONSOLE_POLICY, 'utf8').trim() : NO_PAGE;
}
