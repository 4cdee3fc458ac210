/** Where webhooks go and where not, what they carry, and how an attempt ends. */
import { createHmac } from 'node:crypto';

import { describe, expect, test } from '@jest/globals';

import { listOf } from '../../src/webhook/networks.js';
import { secretBytes } from '../../src/webhook/signature.js';
import type { WebhookSenderOptions } from '../../src/webhook/webhook-sender.js';
import { WebhookRefusedError, WebhookSender } from '../../src/webhook/webhook-sender.js';
import { WebhookReceiver } from '../fixture/webhook-receiver.js';

const secret = secretBytes(`whsec_${Buffer.alloc(32, 7).toString('base64')}`);
const { signal } = new AbortController();

function senderWith(options: Partial<WebhookSenderOptions> = {}): WebhookSender {
  return new WebhookSender({ secret, allowed: listOf(['127.0.0.0/8']), allowsHttp: true, ...options });
}

const webhookTo = (url: string, body = '{"type":"sale","data":{}}') => ({ id: 'task-1', url, body });

test('a webhook is a POST with a signature that its receiver can check', async () => {
  await using receiver = await WebhookReceiver.start();
  const body = JSON.stringify({ type: 'sale', data: { price: 97, name: 'Zoë' } });
  expect(await senderWith().send(webhookTo(receiver.url('/hook?a=1'), body), signal)).toBe(204);
  const [request] = receiver.received;
  expect(request).toMatchObject({ method: 'POST', path: '/hook?a=1', body });
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature } = request!.headers;
  expect(id).toBe('task-1');
  expect(Math.abs(Number(seconds) - Date.now() / 1_000)).toBeLessThan(60);
  const expected = createHmac('sha256', secret)
    .update(`task-1.${String(seconds)}.${body}`)
    .digest('base64');
  expect(signature).toBe(`v1,${expected}`);
  expect(request!.headers['content-type']).toBe('application/json');
});

describe('nothing is sent', () => {
  test.each([
    ['a private address', 'http://127.0.0.1:PORT/'],
    ['one in another notation', 'http://0x7f.1:PORT/'],
    ['one as a number', 'http://2130706433:PORT/'],
    ['one in circled digits', 'http://①②⑦.0.0.1:PORT/'],
    ['one of IPv6', 'http://[::1]:PORT/'],
    ['a mapped one', 'http://[::ffff:127.0.0.1]:PORT/'],
    ['a name that resolves to one', 'http://localhost:PORT/'],
    ['another scheme', 'file:///etc/passwd'],
    ['a user', 'http://user:secret@127.0.0.1:PORT/'],
    ['no URL', 'nowhere'],
  ])('to %s', async (_, url) => {
    await using receiver = await WebhookReceiver.start();
    const sending = senderWith({ allowed: listOf([]) }).send(
      webhookTo(url.replace('PORT', String(receiver.port))),
      signal,
    );
    await expect(sending).rejects.toThrow(WebhookRefusedError);
    expect(receiver.received).toEqual([]);
  });

  test('without TLS, unless that is allowed', async () => {
    await using receiver = await WebhookReceiver.start();
    const sending = senderWith({ allowsHttp: false }).send(webhookTo(receiver.url()), signal);
    await expect(sending).rejects.toThrow('the URL must begin with https://');
    expect(receiver.received).toEqual([]);
  });
});

test('a name is resolved once, and the connection goes to that address', async () => {
  await using receiver = await WebhookReceiver.start();
  const asked: string[] = [];
  const resolve = async (host: string) => {
    asked.push(host);
    return [{ address: '127.0.0.1', family: 4 }];
  };
  // The system knows no address of this name.
  const url = receiver.url('/', 'hook.invalid');
  expect(await senderWith({ resolve }).send(webhookTo(url), signal)).toBe(204);
  expect(asked).toEqual(['hook.invalid']);
  expect(receiver.received[0]!.headers.host).toBe(`hook.invalid:${receiver.port}`);
});

test('a name with one private address among others is refused', async () => {
  await using receiver = await WebhookReceiver.start();
  const resolve = async () => [
    { address: '127.0.0.1', family: 4 },
    { address: '10.0.0.1', family: 4 },
  ];
  const sending = senderWith({ resolve }).send(webhookTo(receiver.url('/', 'hook.invalid')), signal);
  await expect(sending).rejects.toThrow('the URL leads to a private network');
  expect(receiver.received).toEqual([]);
});

test('a redirect is not followed', async () => {
  await using receiver = await WebhookReceiver.start();
  receiver.onRequest = (response) => response.writeHead(307, { location: receiver.url('/elsewhere') }).end();
  expect(await senderWith().send(webhookTo(receiver.url()), signal)).toBe(307);
  expect(receiver.received).toHaveLength(1);
});

test('an answer without an end is cut off', async () => {
  await using receiver = await WebhookReceiver.start();
  receiver.onRequest = (response) => {
    response.writeHead(200);
    const more = (): void => {
      while (response.write(Buffer.alloc(16_384)));
    };
    response.on('drain', more);
    more();
  };
  expect(await senderWith().send(webhookTo(receiver.url()), signal)).toBe(200);
});

test('a receiver that does not answer costs the time limit', async () => {
  await using receiver = await WebhookReceiver.start();
  receiver.onRequest = () => undefined;
  const sending = senderWith({ timeoutMs: 50 }).send(webhookTo(receiver.url()), signal);
  await expect(sending).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('an aborted attempt ends at once', async () => {
  await using receiver = await WebhookReceiver.start();
  const controller = new AbortController();
  receiver.onRequest = () => controller.abort(new Error('the worker stops'));
  const sending = senderWith().send(webhookTo(receiver.url()), controller.signal);
  await expect(sending).rejects.toThrow('the worker stops');
});

test.each([
  '',
  'whsec_',
  'secret',
  `whsec_${Buffer.alloc(23).toString('base64')}`,
  'whsec_ä'.padEnd(60, 'ä'),
])('the secret %j is refused, and not repeated', (text) =>
  expect(() => secretBytes(text)).toThrow(/^must be whsec_ and the base64 of 24 to 64 random bytes$/),
);
