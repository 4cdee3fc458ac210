import { describe, expect, jest, test } from '@jest/globals';
import { gate } from '@mortise/test-kit';
import fc from 'fast-check';
import { BatchReplyError, Coalescer } from '../src/index.js';
import type { CoalescerOptions } from '../src/index.js';

type Batch = [group: string, requests: string[]];

/** A coalescer that answers each request with its upper case, and its batches. */
function shouting(options: CoalescerOptions<string> = { maxBatch: 100 }): {
  coalescer: Coalescer<string, string, string>;
  sent: Batch[];
} {
  const sent: Batch[] = [];
  const coalescer = new Coalescer<string, string, string>(async (group, requests) => {
    sent.push([group, [...requests]]);
    return requests.map((request) => request.toUpperCase());
  }, options);
  return { coalescer, sent };
}

/** The outcomes of several requests of one tick. */
function outcomesOf<Reply>(
  coalescer: Coalescer<string, string, Reply>,
  ...requests: string[]
): Promise<PromiseSettledResult<Reply>[]> {
  return Promise.allSettled(requests.map((request) => coalescer.submit('x', request)));
}

/** Goes on after so many promise callbacks. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}

describe('submit', () => {
  test('sends the requests of one tick in one call for each group, in order, and returns each result to its caller', async () => {
    const { coalescer, sent } = shouting();
    const results = await Promise.all([
      coalescer.submit('x', 'a'),
      coalescer.submit('y', 'b'),
      coalescer.submit('x', 'c'),
      coalescer.submit('x', 'a'),
    ]);
    expect(results).toEqual(['A', 'B', 'C', 'A']);
    expect(sent).toEqual([
      ['x', ['a', 'c', 'a']],
      ['y', ['b']],
    ]);
  });

  test('collects callers that resume from promise chains of different depth', async () => {
    const { coalescer, sent } = shouting();
    const callers = [0, 1, 2, 10, 100].map(async (depth) => {
      await turns(depth);
      return coalescer.submit('x', `d${depth}`);
    });
    expect(await Promise.all(callers)).toEqual(['D0', 'D1', 'D2', 'D10', 'D100']);
    expect(sent).toEqual([['x', ['d0', 'd1', 'd2', 'd10', 'd100']]]);
  });

  test('collects the callers that one event of the event loop wakes', async () => {
    const { coalescer, sent } = shouting();
    const wake = gate();
    const callers = ['a', 'b', 'c'].map(async (name, index) => {
      await wake.passed;
      await turns(index);
      return coalescer.submit('x', name);
    });
    setImmediate(() => wake.open());
    await Promise.all(callers);
    expect(sent).toEqual([['x', ['a', 'b', 'c']]]);
  });

  test('a lone caller waits for promise callbacks only: not for a timer, I/O or setImmediate', async () => {
    const order: string[] = [];
    const coalescer = new Coalescer<string, string, string>(
      async (_, requests) => {
        order.push('sent');
        return [...requests];
      },
      { maxBatch: 10 },
    );
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        setImmediate(() => {
          order.push('immediate');
          resolve();
        });
        setTimeout(() => order.push('timer'), 0);
        void coalescer.submit('x', 'a').then(() => order.push('answered'));
        process.nextTick(() => order.push('tick'));
        void turns(5).then(() => order.push('promise'));
      });
    });
    expect(order.filter((event) => event !== 'timer')).toEqual([
      'tick',
      'promise',
      'sent',
      'answered',
      'immediate',
    ]);
    expect(order.indexOf('sent')).toBeLessThan(order.indexOf('immediate'));
    expect([-1, 4, 5]).toContain(order.indexOf('timer'));
  });

  test('a request submitted during a batch travels in the next one, without waiting for the first', async () => {
    const sent: string[][] = [];
    const first = gate();
    const inner: Promise<string>[] = [];
    const coalescer: Coalescer<string, string, string> = new Coalescer(
      async (_, requests) => {
        sent.push([...requests]);
        if (requests.includes('a')) {
          inner.push(coalescer.submit('x', 'b'), coalescer.submit('x', 'c'));
          await first.passed;
        }
        return [...requests];
      },
      { maxBatch: 10 },
    );
    const outer = coalescer.submit('x', 'a');
    await expect(Promise.all([new Promise(setImmediate), ...inner])).resolves.toBeDefined();
    expect(await Promise.all(inner)).toEqual(['b', 'c']);
    expect(sent).toEqual([['a'], ['b', 'c']]);
    first.open();
    expect(await outer).toBe('a');
  });

  test('splits at maxBatch, in order', async () => {
    const { coalescer, sent } = shouting({ maxBatch: 2 });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((request) => coalescer.submit('x', request)));
    expect(sent.map(([, requests]) => requests)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  test('splits at maxBytes; a request that is larger travels alone', async () => {
    const { coalescer, sent } = shouting({ maxBatch: 10, maxBytes: 4, bytesOf: (request) => request.length });
    await Promise.all(
      ['aa', 'bb', 'c', 'dddddd', 'e', 'fff'].map((request) => coalescer.submit('x', request)),
    );
    expect(sent.map(([, requests]) => requests)).toEqual([['aa', 'bb'], ['c'], ['dddddd'], ['e', 'fff']]);
  });

  test('for any requests: none lost, none twice, order kept, limits kept', async () => {
    const requests = fc.array(fc.tuple(fc.constantFrom('x', 'y', 'z'), fc.string({ maxLength: 8 })), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(
        requests,
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 20 }),
        async (all, ...limits) => {
          const [maxBatch, maxBytes] = limits;
          const { coalescer, sent } = shouting({ maxBatch, maxBytes, bytesOf: ({ length }) => length });
          const results = await Promise.all(all.map(([group, request]) => coalescer.submit(group, request)));
          expect(results).toEqual(all.map(([, request]) => request.toUpperCase()));
          for (const group of ['x', 'y', 'z']) {
            const batches = sent.filter(([name]) => name === group).map(([, batch]) => batch);
            expect(batches.flat()).toEqual(
              all.filter(([name]) => name === group).map(([, request]) => request),
            );
            for (const batch of batches) {
              expect(batch.length).toBeLessThanOrEqual(maxBatch);
              expect(batch.length === 1 || batch.join('').length <= maxBytes).toBe(true);
            }
          }
        },
      ),
    );
  });
});

describe('submitAll', () => {
  test('answers many at once, in order, also over several batches; others of the tick keep their places', async () => {
    const { coalescer, sent } = shouting({ maxBatch: 2 });
    const before = coalescer.submit('x', 'a');
    const many = coalescer.submitAll('x', ['b', 'c', 'd']);
    const after = coalescer.submit('x', 'e');
    expect(await Promise.all([before, many, after])).toEqual(['A', ['B', 'C', 'D'], 'E']);
    expect(sent).toEqual([
      ['x', ['a', 'b']],
      ['x', ['c', 'd']],
      ['x', ['e']],
    ]);
  });

  test('requests that fit into one call are not spread over two; more are split as usual', async () => {
    const { coalescer, sent } = shouting({ maxBatch: 4, maxBytes: 6, bytesOf: (text) => text.length });
    await Promise.all([
      coalescer.submit('x', 'a'),
      coalescer.submitAll('x', ['b', 'c', 'd', 'e']),
      coalescer.submit('x', 'f'),
      // Fits by number, not by bytes.
      coalescer.submitAll('x', ['ghi', 'jkl', 'mno']),
      coalescer.submitAll('x', ['p', 'q', 'r', 's', 't']),
    ]);
    expect(sent.map(([, batch]) => batch.join(' '))).toEqual([
      'a',
      'b c d e',
      'f',
      'ghi jkl',
      'mno p q r',
      's t',
    ]);
  });

  test('of nothing is nothing, and sends nothing', async () => {
    const { coalescer, sent } = shouting();
    expect(await coalescer.submitAll('x', [])).toEqual([]);
    expect(sent).toEqual([]);
  });

  test('an Error among the results rejects this caller, and no other of the batch', async () => {
    const refusal = new RangeError('b is too large');
    const coalescer = new Coalescer<string, string, string>(async () => ['A', refusal, 'C', 'D'], {
      maxBatch: 10,
    });
    const many = coalescer.submitAll('x', ['a', 'b', 'c']);
    const other = coalescer.submit('x', 'd');
    await expect(many).rejects.toBe(refusal);
    expect(await other).toBe('D');
  });

  test('a send that rejects rejects it', async () => {
    const gone = new Error('gone');
    const coalescer = new Coalescer<string, string, string>(() => Promise.reject(gone), { maxBatch: 1 });
    await expect(coalescer.submitAll('x', ['a', 'b'])).rejects.toBe(gone);
  });
});

describe('settleAll', () => {
  test('resolves to each outcome when all calls have ended, also failed ones', async () => {
    const gone = new Error('gone');
    const refusal = new RangeError('b is too large');
    const slow = gate();
    const asked = gate();
    const send = jest.fn(async (_group: string, requests: readonly string[]) => {
      if (requests.includes('c')) throw gone;
      if (requests.includes('e')) {
        asked.open();
        await slow.passed;
      }
      return requests.map((request) => (request === 'b' ? refusal : request.toUpperCase()));
    });
    const coalescer = new Coalescer<string, string, string>(send, { maxBatch: 2 });
    const onSettled = jest.fn();
    const settling = coalescer.settleAll('x', ['a', 'b', 'c', 'd', 'e']).then((settled) => {
      onSettled();
      return settled;
    });
    await asked.passed;
    await turns(20);
    expect([send.mock.calls.length, onSettled.mock.calls.length]).toEqual([3, 0]);
    slow.open();
    expect(await settling).toEqual({
      results: ['A', undefined, undefined, undefined, 'E'],
      errors: new Map<number, unknown>([
        [1, refusal],
        [2, gone],
        [3, gone],
      ]),
    });
  });

  test('of nothing is nothing', async () => {
    expect(await shouting().coalescer.settleAll('x', [])).toEqual({ results: [], errors: new Map() });
  });
});

describe('errors', () => {
  test('an Error among the results rejects its own caller only', async () => {
    const refusal = new RangeError('b is too large');
    const coalescer = new Coalescer<string, string, string>(async () => ['A', refusal, 'C'], {
      maxBatch: 10,
    });
    expect(await outcomesOf(coalescer, 'a', 'b', 'c')).toEqual([
      { status: 'fulfilled', value: 'A' },
      { status: 'rejected', reason: refusal },
      { status: 'fulfilled', value: 'C' },
    ]);
  });

  test.each([
    ['rejects', () => Promise.reject(new Error('connection lost'))],
    [
      'throws synchronously',
      () => {
        throw new Error('connection lost');
      },
    ],
  ])('a send that %s rejects every caller of that batch, and of no other', async (_, fail) => {
    const send = jest.fn(async (_group: string, requests: readonly string[]) => requests);
    send.mockImplementationOnce(fail);
    const coalescer = new Coalescer<string, string, string>(send, { maxBatch: 2 });
    const all = await outcomesOf(coalescer, 'a', 'b', 'c');
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(all[0]).toMatchObject({ reason: { message: 'connection lost' } });
    expect(await coalescer.submit('x', 'd')).toBe('d');
  });

  test.each([[[]], [['A']], [['A', 'B', 'C']]])(
    'the wrong number of replies rejects every caller: %j',
    async (replies) => {
      const coalescer = new Coalescer<string, string, string>(async () => replies, { maxBatch: 10 });
      const reason = new BatchReplyError(2, replies.length);
      expect(await outcomesOf(coalescer, 'a', 'b')).toEqual([
        { status: 'rejected', reason },
        { status: 'rejected', reason },
      ]);
    },
  );

  test('a bytesOf that throws rejects its own caller only', async () => {
    const { coalescer } = shouting({
      maxBatch: 10,
      maxBytes: 100,
      bytesOf: (request) => {
        if (request === 'b') throw new TypeError('no bytes');
        return request.length;
      },
    });
    const all = await outcomesOf(coalescer, 'a', 'b', 'c');
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(all[1]).toMatchObject({ reason: { message: 'no bytes' } });
  });

  test.each([[0], [-1], [1.5], [Number.NaN], [Infinity], [undefined]])('refuses maxBatch %d', (maxBatch) => {
    expect(() => shouting({ maxBatch: maxBatch as number })).toThrow(/^maxBatch must be a (whole )?number/);
  });

  test.each([[0], [-1], [1.5], [Number.NaN], [null]])('refuses maxBytes %d', (maxBytes) => {
    expect(() => shouting({ maxBatch: 1, maxBytes: maxBytes as number })).toThrow(
      /^maxBytes must be a (whole )?number/,
    );
  });

  test.each([
    [
      { maxBatch: 1, maxBatches: 2 },
      'Coalescer has no option "maxBatches"; there are maxBatch, maxBytes, bytesOf',
    ],
    [{ maxBatch: 1, bytesOf: 5 }, 'bytesOf must be a function, got number'],
    [undefined, 'options must be an object, got undefined'],
  ])('refuses %j', (options, message) => {
    const coalescer = () => new Coalescer(async () => [], options as never);
    expect(coalescer).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG', message }));
  });
});
