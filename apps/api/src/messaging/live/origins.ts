import type { IncomingMessage } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../../config.js';
import { Problem } from '../../problems/problem.js';
import { CONFIG } from '../../tokens.js';

/**
 * Decides which pages may open streams. A browser lets any page open a WebSocket to any server and sends the user's
 * cookies, but it names the page. Other clients name none, and pass.
 */
@Injectable()
export class Origins {
  readonly #allowed: ReadonlySet<string> | undefined;

  constructor(@Inject(CONFIG) { ALLOWED_ORIGINS: allowed }: Config) {
    this.#allowed = allowed && new Set(allowed);
  }

  /** The origin of the page, or undefined. Throws the problem `foreign-origin`. */
  require({ headers }: IncomingMessage): string | undefined {
    const { origin, host } = headers;
    if (origin === undefined) return undefined;
    const isOwn = this.#allowed ? this.#allowed.has(origin) : hostOf(origin) === host?.toLowerCase();
    if (!isOwn) throw new Problem('foreign-origin');
    return origin;
  }
}

function hostOf(origin: string): string | undefined {
  // A page of no origin, such as a file, says "null".
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url.host : undefined;
}
