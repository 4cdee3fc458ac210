import { describe, expect, test } from '@jest/globals';

import { DONE, Router } from '../../src/http/router.js';

const router = new Router({
  'GET queues': async () => DONE,
  'GET queues/:queue': async () => DONE,
  'DELETE queues/:queue': async () => DONE,
  'GET queues/:queue/tasks/:id': async () => DONE,
});

describe('find', () => {
  test('names the parts, decoded', () => {
    expect(router.find('GET', 'queues/a%2Fb%20c/tasks/%7B%25').params).toEqual({ queue: 'a/b c', id: '{%' });
  });

  test.each([
    ['GET', 'queues/', 'unknown-route'],
    ['GET', 'queue', 'unknown-route'],
    ['GET', 'queues/a/tasks', 'unknown-route'],
    ['GET', 'queues/a/tasks/b/c', 'unknown-route'],
    ['GET', 'queues/%E0%A4%A', 'malformed-url'],
    ['POST', 'queues/a', 'method-not-allowed'],
    ['GET', '', 'unknown-route'],
  ])('%s %s is refused as %s', (method, path, slug) => {
    expect(() => router.find(method, path)).toThrow(expect.objectContaining({ slug }));
  });
});
