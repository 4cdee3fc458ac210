/** The tasks of webhooks: the API enqueues them, the worker delivers them. */
export const WEBHOOK_QUEUE = 'webhook';

export type WebhookTasks = {
  /** Posts an event to a URL. The id of the task is the `webhook-id` of each attempt. */
  'webhook.deliver': { url: string; type: string; data: unknown };
};

export const WEBHOOK_TASKS = ['webhook.deliver'] as const satisfies readonly (keyof WebhookTasks)[];

/** About nine hours, with the doubling backoff of the queue. */
export const WEBHOOK_ATTEMPTS = 20;

const MAX_URL_LENGTH = 2_048;

/**
 * Why no webhook is sent to this URL whatever its name resolves to; undefined when it may be sent. The worker checks the addresses.
 */
export function urlRefusal(text: string): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `the URL is longer than ${MAX_URL_LENGTH} characters`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return 'the URL cannot be parsed';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'the URL must begin with https://';
  if (url.username !== '' || url.password !== '') return 'the URL must not contain a user or a password';
  if (url.hash !== '') return 'the URL must not contain a fragment';
  return undefined;
}
