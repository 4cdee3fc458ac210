import type { IncomingHttpHeaders } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Decides which pages may use the API, and under which names it is served. A browser lets any page send a POST without a body to any
 * server, or open a WebSocket, and sends the user's cookies; but it names the page. A page may also give its own name the address of
 * this server, which then seems to be its own (DNS rebinding); but the request names the host. Other clients name no page, and pass.
 */
@Injectable()
export class Origins {
  readonly #origins: ReadonlySet<string> | undefined;
  /** Undefined: any. */
  readonly #hosts: ReadonlySet<string> | undefined;

  constructor(@Inject(CONFIG) { ALLOWED_ORIGINS: origins, ALLOWED_HOSTS: hosts, HOST: own }: Config) {
    this.#origins = origins && new Set(origins);
    const isLocal = LOOPBACK.includes(own) || own === '::1';
    const known = hosts ?? (isLocal ? LOOPBACK : undefined);
    this.#hosts = known && new Set(known);
  }

  /** Throws the problems `foreign-host` and, for a method that changes something, `foreign-origin`. */
  requireOwn(method: string, headers: IncomingHttpHeaders): void {
    const name = hostName(headers.host);
    if (this.#hosts && name !== undefined && !this.#hosts.has(name)) throw new Problem('foreign-host');
    if (SAFE_METHODS.has(method)) return;
    this.require(headers);
    // Browsers name the page of such a request; one that hides it is not trusted.
    if (headers.origin === undefined && headers['sec-fetch-site'] === 'cross-site')
      throw new Problem('foreign-origin');
  }

  /** The origin of the page, or undefined. Throws the problem `foreign-origin`. */
  require({ origin, host }: IncomingHttpHeaders): string | undefined {
    if (origin === undefined) return undefined;
    const isOwn = this.#origins ? this.#origins.has(origin) : hostOf(origin) === host?.toLowerCase();
    if (!isOwn) throw new Problem('foreign-origin');
    return origin;
  }
}

/** Without the port; undefined for a request of HTTP/1.0 that names none. */
function hostName(host: string | undefined): string | undefined {
  return host?.toLowerCase().replace(/:\d*$/, '');
}

function hostOf(origin: string): string | undefined {
  // A page of no origin, such as a file, says "null".
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url.host : undefined;
}
