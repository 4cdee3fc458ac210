import { WEBHOOK_QUEUE } from '@mortise/api/webhooks';
import { Discard, type TaskContext } from '@mortise/queues';
import { TaskHandler } from '@mortise/queues/nestjs';
import type { Logger } from 'pino';
import { z } from 'zod';

import { logAttempt } from '../log-attempt.js';
import { type Webhook, WebhookRefusedError, type WebhookSender } from './webhook-sender.js';

// Further fields are ignored, for newer producers.
const Delivery = z.object({ url: z.string(), type: z.string().min(1).max(128), data: z.unknown() });

/** Answers that say "later". Every other 4xx, and a redirect, is final. */
const LATER = new Set([408, 425, 429]);

/** Delivers webhooks. One that cannot succeed is dead-lettered at once; every other failure is retried. */
export class WebhookHandlers {
  readonly #sender: WebhookSender;
  readonly #log: Logger;

  constructor(sender: WebhookSender, log: Logger) {
    this.#sender = sender;
    this.#log = log;
  }

  /** Logs the outcome of the attempt, but neither URL nor data: both may contain secrets. */
  @TaskHandler('webhook.deliver', { queue: WEBHOOK_QUEUE })
  async deliver(payload: unknown, task: TaskContext): Promise<void> {
    await logAttempt(this.#log, task, { what: 'webhook', done: 'delivered' }, async () => ({
      status: await this.#attempt(payload, task),
    }));
  }

  async #attempt(payload: unknown, { id, signal }: TaskContext): Promise<number> {
    const { data: delivery } = Delivery.safeParse(payload);
    if (!delivery) throw new Discard('the payload is not that of a webhook');
    const { url, type, data } = delivery;
    const status = await this.#send({ id, url, body: JSON.stringify({ type, data }) }, signal);
    if (status >= 200 && status < 300) return status;
    const reason = `the receiver answered ${status}`;
    if (status >= 300 && status < 500 && !LATER.has(status)) throw new Discard(reason);
    throw new Error(reason);
  }

  async #send(webhook: Webhook, signal: AbortSignal): Promise<number> {
    try {
      return await this.#sender.send(webhook, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof WebhookRefusedError) throw new Discard(error.message);
      const { code: given, name } = error as NodeJS.ErrnoException;
      // A TimeoutError of Node has a number.
      const code = typeof given === 'string' ? given : name;
      // The message of a socket has the address, which the URL may be meant to hide.
      throw Object.assign(new Error(`no answer of the receiver: ${code}`), { code });
    }
  }
}
