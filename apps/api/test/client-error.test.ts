/** Bytes that are not HTTP end a connection, after the answers to earlier requests. */
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';

import type { Api } from './fixture/api.js';
import { openShop, startApi } from './fixture/api.js';

const GARBAGE = 'GARBAGE\r\n\r\n';
const TUNNEL = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';
const BROKEN_BODY =
  'POST /v1/market/listings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';

let api: Api;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: freshPrefix() });
  await openShop(api);
});
afterAll(() => api.app.close());

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

function purchase(body: object): string {
  const json = JSON.stringify(body);
  const head =
    'POST /v1/market/listings/offer/purchases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json';
  return `${head}\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
}

/** Sends bytes in one packet, and gives status and body of each answer, in order, when the server has closed. */
function exchange(bytes: string, { isEnded = false } = {}): Promise<[number, unknown][]> {
  const { hostname, port } = new URL(api.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname)
      .on('data', (chunk) => (text += chunk.toString()))
      .on('close', () => {
        const answers = text.split('HTTP/1.1 ').slice(1);
        resolve(
          answers.map((answer) => [Number(answer.slice(0, 3)), JSON.parse(answer.split('\r\n\r\n')[1]!)]),
        );
      })
      .on('error', reject);
    if (isEnded) socket.end(bytes);
    else socket.write(bytes);
  });
}

const problem = (slug: string): unknown =>
  expect.objectContaining({ type: `https://mortise.dev/problems/${slug}` });

describe('garbage', () => {
  test('after a purchase: the receipt comes first', async () => {
    const answers = await exchange(purchase({ buyerId: 'bill', expectedPrice: 97 }) + GARBAGE);
    expect(answers).toEqual([
      [201, expect.objectContaining({ listingId: 'offer', buyerId: 'bill', price: 97 })],
      [400, problem('malformed-request')],
    ]);
  });

  test('after several requests: each has its answer, in order', async () => {
    const requests = ['/v1/market/players/frank', '/v1/market/players/nobody', '/health/live'].map(get);
    expect(await exchange(requests.join('') + GARBAGE)).toEqual([
      [200, expect.objectContaining({ id: 'frank' })],
      [404, problem('unknown-player')],
      [200, { status: 'live' }],
      [400, problem('malformed-request')],
    ]);
  });

  test('in many packets has one answer', async () => {
    const { hostname, port } = new URL(api.url);
    const text = await new Promise<string>((resolve) => {
      let received = '';
      const socket = connect({ port: Number(port), host: hostname, noDelay: true })
        .on('data', (chunk) => (received += chunk.toString()))
        .on('error', () => undefined)
        .on('close', () => resolve(received));
      socket.write(get('/v1/market/players/frank') + GARBAGE, () =>
        socket.write(GARBAGE, () => socket.write(GARBAGE)),
      );
    });
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  test('instead of a body is refused at once, after the answers before it', async () => {
    const refusal = [400, problem('malformed-request')];
    expect(await exchange(BROKEN_BODY)).toEqual([refusal]);
    const frank = get('/v1/market/players/frank');
    expect(await exchange(frank + BROKEN_BODY)).toEqual([[200, expect.anything()], refusal]);
  });
});

test('a tunnel after a request is refused after its answer', async () => {
  expect(await exchange(get('/v1/market/players/frank') + TUNNEL)).toEqual([
    [200, expect.objectContaining({ id: 'frank' })],
    [405, expect.objectContaining({ allowed: [] })],
  ]);
});

test('a client that ends its side after its request gets the answer', async () => {
  expect(await exchange(get('/v1/market/players/frank'), { isEnded: true })).toEqual([
    [200, expect.objectContaining({ id: 'frank' })],
  ]);
});
