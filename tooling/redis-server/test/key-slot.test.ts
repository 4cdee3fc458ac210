import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { keySlot, startSingle, type RedisServer } from '../src/index.js';

describe('keySlot', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startSingle({ isCluster: true });
  });
  afterAll(() => server.stop());

  it('is what CLUSTER KEYSLOT says, hash tags and other bytes included', async () => {
    const keys = [
      '',
      'a',
      'foo',
      '{a}x',
      'x{a}y',
      '{}x',
      '{a',
      'a}',
      '}{',
      '{a}{b}',
      '{{a}}',
      '{}{a}',
      'ключ',
      '{é}1',
      '\0\n',
    ];
    keys.push(...Array.from({ length: 50 }, (_, index) => `key:${index * 7919}`));

    const answers = await Promise.all(keys.map((key) => server.command('CLUSTER', 'KEYSLOT', key)));

    expect(keys.map((key) => [key, keySlot(key)])).toEqual(keys.map((key, index) => [key, answers[index]]));
  });
});
