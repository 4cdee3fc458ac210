import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { enterIndexed } from '../../src/members/index-guard.js';
import { MessagingKeys } from '../../src/keys.js';
import { chatCreate, chatJoin } from '../../src/scripts.gen.js';
import { describeChat } from '../fixture/chat-state.js';

const redis = connect();

describe('the second step of joining and creating', () => {
  test('is given half a minute from the first, and the first is done again when it came too late', async () => {
    const log: string[] = [];
    const now = [1_000, 2_000];
    const result = await enterIndexed(
      (notBefore) => {
        log.push(`index from ${notBefore}`);
        return Promise.resolve([
          { joinedAt: 5, now: now.shift()!, isMuted: false },
          { joinedAt: 6, now: 9_000, isMuted: false },
        ]);
      },
      (indexed, notAfter) => {
        log.push(`enter by ${notAfter}`);
        expect(indexed).toHaveLength(2);
        return Promise.resolve(log.length < 3 ? { tooLateAt: 500_000, leftAt: 7 } : { result: 'in' });
      },
    );
    expect(result).toBe('in');
    // By the clock of the chat's server the second time, whatever that of the members' servers shows.
    expect(log).toEqual(['index from 0', 'enter by 31000', 'index from 8', 'enter by 530000']);
  });

  test('fails if the script never arrives in time', async () => {
    let tries = 0;
    const entering = enterIndexed(
      () => Promise.resolve([{ joinedAt: 1, now: 1, isMuted: false }]),
      () => {
        tries += 1;
        return Promise.resolve({ tooLateAt: 1, leftAt: 0 });
      },
    );
    await expect(entering).rejects.toThrow('30 s');
    expect(tries).toBe(5);
  });

  test('changes nothing when it is late, and returns the time of the server', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'] });
    const keys = new MessagingKeys(prefix);
    const before = await describeChat(redis, prefix, 'guild');
    const late = Date.now() - 60_000;
    const joined = (await chatJoin.run(redis, keys.chat('guild'), {
      publish: 'PUBLISH',
      maxMembers: 10,
      keepMs: 60_000,
      joins: ['carl', 0, late, late, 'bob', 0, late, late],
    })) as number[];
    // A member of the chat is never late.
    expect(joined).toEqual([expect.any(Number), -2, 0, 0, 0]);
    expect(joined[0]).toBeGreaterThan(late);
    expect(await describeChat(redis, prefix, 'guild')).toEqual(before);
    const created = await chatCreate.run(redis, keys.chat('other'), {
      publish: 'PUBLISH',
      keepMs: 1_000,
      dedupMs: 1_000,
      keepAcked: 0,
      notAfter: late,
      notBefore: late,
      indexedFrom: late,
      messageKey: '',
      body: '1',
      sender: 'anna',
      others: ['bob'],
    });
    expect(created).toEqual([-1, 0, expect.any(Number)]);
    expect((await describeChat(redis, prefix, 'other')).exists).toBe(false);
  });

  test('gives a chat an epoch above any earlier one, also if the clock of its server is behind', async () => {
    const prefix = freshPrefix();
    const keys = new MessagingKeys(prefix);
    const notBefore = Date.now() + 600_000;
    const created = await chatCreate.run(redis, keys.chat('guild'), {
      publish: 'PUBLISH',
      keepMs: 1_000,
      dedupMs: 1_000,
      keepAcked: 0,
      notAfter: notBefore,
      notBefore,
      indexedFrom: notBefore,
      messageKey: '',
      body: '1',
      sender: 'anna',
      others: ['bob'],
    });
    expect(created).toEqual([1, 1, expect.any(Number)]);
    await new Chats(redis, { prefix }).post('guild', 'bob', 2);
    expect(await describeChat(redis, prefix, 'guild')).toMatchObject({
      epoch: notBefore,
      instants: [0, 0],
      lastId: 2,
    });
    expect((await redis.lrange(keys.chat('guild').log, 0, -1)).map((entry) => entry.slice(0, 4))).toEqual([
      '1:0:',
      '2:0:',
    ]);
  });
});
