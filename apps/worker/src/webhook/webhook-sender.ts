/**
 * Posts webhooks, and only to addresses that they may reach. The name is resolved once and the connection goes to an address of that
 * answer: a second look-up could give a private one (DNS rebinding). Redirects are not followed, since they would lead anywhere.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { BlockList } from 'node:net';
import { isIP } from 'node:net';

import { urlRefusal } from '@mortise/api/webhooks';
import { waitFor } from '@mortise/redis';

import { mayReach } from './networks.js';
import { signedHeaders } from './signature.js';

/** From the look-up of the name to the end of the answer. */
const TIMEOUT_MS = 10_000;
/** An answer is read and thrown away; a longer one is cut off. */
const MAX_ANSWER_BYTES = 65_536;

export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** JSON. */
  readonly body: string;
}

export interface WebhookSenderOptions {
  readonly secret: Buffer;
  /** Networks that webhooks may reach although they are not public. */
  readonly allowed: BlockList;
  /** Whether http:// is allowed. */
  readonly allowsHttp: boolean;
  readonly timeoutMs?: number;
  /** All addresses of a host name. Default: what the system says. */
  readonly resolve?: (host: string) => Promise<LookupAddress[]>;
}

/** The webhook must not be sent. The message has no address. */
export class WebhookRefusedError extends Error {
  override readonly name = 'WebhookRefusedError';
}

export class WebhookSender {
  readonly #options: WebhookSenderOptions;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  /**
   * One attempt; resolves with the status of the answer. Rejects with WebhookRefusedError, with an error of the socket, with a
   * TimeoutError, or with the reason of the signal.
   */
  async send(webhook: Webhook, signal: AbortSignal): Promise<number> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      return await this.#post(webhook, deadline);
    } catch (error) {
      // The request would say AbortError for both.
      deadline.throwIfAborted();
      throw error;
    }
  }

  async #post({ id, url: text, body }: Webhook, deadline: AbortSignal): Promise<number> {
    const { secret } = this.#options;
    const url = this.#urlOf(text);
    // A look-up cannot be cancelled.
    const address = await waitFor(this.#addressOf(url), { signal: deadline });
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise<number>((resolve, reject) => {
      const sent = request(url, {
        method: 'POST',
        // A kept connection would skip the check of the address.
        agent: false,
        signal: deadline,
        // Never a second look-up. Node asks for one address or for all.
        lookup: (_host, { all }, found) =>
          all ? found(null, [address]) : found(null, address.address, address.family),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'mortise-webhook/1',
          ...signedHeaders(id, Date.now(), body, secret),
        },
      });
      sent.on('response', (response) => {
        void readAway(response).then(() => resolve(response.statusCode ?? 0), reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  #urlOf(text: string): URL {
    const refusal = urlRefusal(text);
    if (refusal !== undefined) throw new WebhookRefusedError(refusal);
    const url = new URL(text);
    if (url.protocol === 'http:' && !this.#options.allowsHttp)
      throw new WebhookRefusedError('the URL must begin with https://');
    return url;
  }

  /** The first address of the name; all of them must be reachable, so that nobody depends on their order. */
  async #addressOf({ hostname }: URL): Promise<LookupAddress> {
    const { allowed, resolve = (name) => lookup(name, { all: true }) } = this.#options;
    const host = hostname.replace(/^\[|\]$/g, '');
    const literal = isIP(host);
    const found = literal === 0 ? await resolve(host) : [{ address: host, family: literal }];
    if (!found.every(({ address }) => mayReach(address, allowed)))
      throw new WebhookRefusedError('the URL leads to a private network');
    return found[0]!;
  }
}

async function readAway(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_ANSWER_BYTES) return;
  }
}
