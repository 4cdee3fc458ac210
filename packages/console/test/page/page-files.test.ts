/** The files of the page, below any mount. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { get } from 'node:http';

import type { Served } from '../fixture/serve.js';
import { ask, serve } from '../fixture/serve.js';

const MOUNT = '/admin/tasks';
let served: Served;
beforeAll(async () => {
  served = await serve({ mount: MOUNT });
});

async function scriptOf(): Promise<string> {
  const { json: index } = await ask(`${served.url}${MOUNT}/`, 'GET');
  return /src="([^"]+\.js)"/.exec(index as string)![1]!;
}

describe('the page', () => {
  test('names its files and its API below the mount', async () => {
    const { json: index, headers } = await ask(`${served.url}${MOUNT}/queues/mail`, 'GET');
    expect(index).toContain(`content="${MOUNT}/v1/"`);
    expect(index).not.toMatch(/"\/(?:console|v1)\//);
    expect(headers.get('cache-control')).toBe('no-cache');
    const script = await ask(served.url + (await scriptOf()), 'GET');
    expect(script.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    expect(script.json).toContain(`${MOUNT}/`);
    expect(script.json).not.toContain('/console/');
  });

  test('runs no code and no style inside itself', async () => {
    const { headers } = await ask(`${served.url}${MOUNT}/`, 'GET');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });

  test('is compressed for a browser that takes it', async () => {
    const url = served.url + (await scriptOf());
    const plain = await ask(url, 'GET');
    const zipped = await new Promise<Buffer>((resolve) => {
      get(url, { headers: { 'accept-encoding': 'gzip' } }, (response) =>
        resolve(response.toArray().then((chunks) => Buffer.concat(chunks as Buffer[]))),
      );
    });
    expect(zipped.length).toBeLessThan(Buffer.byteLength(plain.json as string) / 2);
    expect(gunzipSync(zipped).toString()).toBe(plain.json);
  });

  test.each(['assets/missing.js', 'assets/..%2Findex.html', 'assets/../../package.json'])(
    '%s is not there',
    async (path) => {
      const { status, json } = await ask(`${served.url}${MOUNT}/${path}`, 'GET');
      // The client resolves `..` by itself: what comes out is another place.
      expect([status, json.status]).toEqual([404, 404]);
    },
  );

  test.each(['/console/', '/admin/tasksx', '/admin'])('%s is no part of it', async (path) => {
    expect((await ask(served.url + path, 'GET')).status).toBe(404);
  });

  test('takes GET alone', async () => {
    expect((await ask(`${served.url}${MOUNT}/queues`, 'POST')).status).toBe(405);
  });
});
