/**
 * A browser lets any page send requests to any server, with the cookies of its user. But it says which page sends it: in
 * `Sec-Fetch-Site`, older ones in `Origin`. A page may also give its own name the address of this server (DNS rebinding), and then
 * seems to be its own; the option `hosts` refuses that.
 */
import type { IncomingHttpHeaders } from 'node:http';

import { Problem } from './problem.js';

/** Throws the problem `foreign-host`. @param hosts Undefined: any. */
export function requireHost({ host }: IncomingHttpHeaders, hosts: ReadonlySet<string> | undefined): void {
  const name = host?.toLowerCase().replace(/:\d*$/, '');
  if (hosts && !hosts.has(name ?? '')) throw new Problem('foreign-host');
}

/**
 * Throws the problem `foreign-origin` for a request of a page of another server. A change needs the word of the browser, so no
 * program without a page makes one. `none`: the user typed the address.
 */
export function requireOwnPage(isRead: boolean, headers: IncomingHttpHeaders): void {
  const { 'sec-fetch-site': site, origin } = headers;
  const isOwnOrigin = origin === undefined ? isRead : isOrigin(origin, headers.host);
  const isOwn =
    site === undefined ? isOwnOrigin : site === 'same-origin' || (site === 'none' && isRead && isOwnOrigin);
  if (!isOwn) throw new Problem('foreign-origin');
}

function isOrigin(origin: string, host: string | undefined): boolean {
  // A page of no origin, such as a file, says "null".
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.host === host?.toLowerCase();
}
