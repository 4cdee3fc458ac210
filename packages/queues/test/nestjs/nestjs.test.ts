import { describe, expect, test } from '@jest/globals';
import type { TaskContext } from '@mortise/queues';
import { Claims, Queue } from '@mortise/queues';
import type { QueueFeatureOptions, TaskHandlerOptions } from '@mortise/queues/nestjs';
import {
  getClaimsToken,
  getQueuesToken,
  getQueueToken,
  InjectClaims,
  InjectQueue,
  InjectQueues,
  Queues,
  QueuesModule,
  TaskHandler,
} from '@mortise/queues/nestjs';
import { connect, freshPrefix, gate, until } from '@mortise/test-kit';
import { boot, describeModule } from '@mortise/test-kit/nestjs';
import type { ModuleMetadata, OnApplicationShutdown, Type } from '@nestjs/common';
import { Inject, Injectable, Logger, Module, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { z } from 'zod';

const redis = connect();

describeModule({
  module: QueuesModule,
  provided: [[Queues, getQueuesToken, InjectQueues]],
  refused: [],
  feature: {
    given: { queues: { mail: {} }, claims: { mail: {} } },
    provided: [
      [Queue, (module) => getQueueToken('mail', module), (module) => InjectQueue('mail', module)],
      [Claims, (module) => getClaimsToken('mail', module), (module) => InjectClaims('mail', module)],
    ],
    refused: [
      [undefined as never, 'QueuesModule.forFeature: feature must be an object, got undefined'],
      [{ queues: { mail: { shards: 0 } } }, 'QueuesModule.forFeature: shards must be a whole number'],
      [
        { queues: { mail: { prefix: 'x' } } },
        'QueuesModule.forFeature: Queue: prefix is an option of forRoot',
      ],
      [{ claims: { mail: { limit: 5 } } }, 'QueuesModule.forFeature: Claims has no option "limit"'],
    ],
  },
});

interface Mail {
  'mail.sold': { itemId: string };
  'mail.expired': { itemId: string };
}

/** A log of the handlers of these tests. */
class Seen extends Array<string> {}

@Injectable()
class Mails {
  constructor(private readonly seen: Seen) {}

  @TaskHandler('mail.sold')
  async sold({ itemId }: Mail['mail.sold'], { queue, attempt }: TaskContext): Promise<string> {
    this.seen.push(`sold ${itemId}, ${queue}, attempt ${attempt}`);
    return `sold ${itemId}`;
  }

  @TaskHandler('mail.expired', { queue: 'mail' })
  expired({ itemId }: Mail['mail.expired']): void {
    this.seen.push(`expired ${itemId}`);
  }
}

const TASKS = ['mail.sold', 'mail.expired'];

type Imports = NonNullable<ModuleMetadata['imports']>;
type Providers = NonNullable<ModuleMetadata['providers']>;

function moduleOf(
  root: object,
  queues: Readonly<Record<string, QueueFeatureOptions>>,
  providers: Providers,
): ModuleMetadata {
  return {
    imports: [
      QueuesModule.forRoot({ redis, prefix: freshPrefix(), workers: {}, ...root }),
      QueuesModule.forFeature({ queues }),
    ],
    providers: [Seen, ...providers],
  };
}

const mailModule = (root: object, providers: Providers = [Mails]): ModuleMetadata =>
  moduleOf(root, { mail: { tasks: TASKS } }, providers);

/** A provider whose method has these decorators. */
const handling = (...marks: [string, TaskHandlerOptions?][]): Type => {
  @Injectable()
  class Handling {
    handle(): void {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handling.prototype, 'handle')!;
  for (const mark of marks) TaskHandler(...mark)(Handling.prototype, 'handle', descriptor);
  return Handling;
};

describe('QueuesModule.forRoot', () => {
  test('runs tasks by the methods of providers, and injects queues', async () => {
    const app = await boot(mailModule({}));
    const queue = app.get<Queue<Mail>>(getQueueToken('mail'));
    const { id } = await queue.enqueue('mail.sold', { itemId: '42' });
    await queue.enqueue('mail.expired', { itemId: '43' });
    await until('both tasks', () => app.get(Seen).length === 2);
    expect(app.get(Seen).toSorted()).toEqual(['expired 43', 'sold 42, mail, attempt 1']);
    expect(await until('the end', async () => (await queue.get(id))?.result)).toBe('sold 42');
  });

  test('without workers it only enqueues, with the same modules', async () => {
    const prefix = freshPrefix();
    const producer = await boot(mailModule({ prefix, workers: undefined }));
    const queue = producer.get<Queue<Mail>>(getQueueToken('mail'));
    await queue.enqueue('mail.sold', { itemId: '1' });
    const consumer = await boot(mailModule({ prefix }));
    await until('the task', () => consumer.get(Seen).length === 1);
    expect(producer.get(Seen)).toHaveLength(0);
    await expect(boot(mailModule({ prefix, workers: false }, []))).resolves.toBeDefined();
  });

  test('runs several workers with several queues each', async () => {
    @Injectable()
    class Reports {
      constructor(private readonly seen: Seen) {}

      @TaskHandler('any')
      any(payload: string, { queue }: TaskContext): void {
        this.seen.push(`${queue} ${payload}`);
      }
    }
    const workers = [
      { queues: ['a', 'b'], fairness: { a: 3, b: 1 }, concurrency: 1 },
      { queues: ['c'], concurrency: 2 },
    ];
    const app = await boot(moduleOf({ workers }, { a: {}, b: {}, c: {}, d: {} }, [Reports]));
    for (const name of ['a', 'b', 'c', 'd']) await app.get<Queue>(getQueueToken(name)).enqueue('any', 1);
    await until('three tasks', () => app.get(Seen).length === 3);
    expect(app.get(Seen).toSorted()).toEqual(['a 1', 'b 1', 'c 1']);
    expect(app.get(Queues).workers.map(({ isRunning }) => isRunning)).toEqual([true, true]);
    expect(await app.get<Queue>(getQueueToken('d')).counts()).toMatchObject({ ready: 1 });
  });

  test('opens a client for a URL and closes it at the end', async () => {
    const app = await boot(mailModule({ redis: undefined, url: process.env['MORTISE_TEST_REDIS'] }));
    const queue = app.get<Queue<Mail>>(getQueueToken('mail'));
    await queue.enqueue('mail.sold', { itemId: '42' });
    await until('the task', () => app.get(Seen).length === 1);
    await app.close();
    await expect(queue.counts()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });

  test.each([
    [{ concurrency: 0 }, RangeError, 'QueuesModule: concurrency must be a whole number'],
    [
      { queues: [] },
      TypeError,
      "QueuesModule: queues must be a list of one or more different names, as ['mail']",
    ],
    [{ queues: ['post'] }, TypeError, 'a worker serves queue "post", which forFeature does not name'],
  ])('lets the boot fail for wrong workers: %#', async (workers, Misuse, message) => {
    const booted = boot(moduleOf({ workers }, { mail: {} }, [Mails]));
    await expect(booted).rejects.toThrow(message);
    await expect(booted).rejects.toBeInstanceOf(Misuse);
  });
});

describe('QueuesModule.forFeature', () => {
  test('gives its options to the queue, and those of forRoot', async () => {
    const prefix = freshPrefix();
    const root = { prefix, workers: undefined };
    const app = await boot(moduleOf(root, { mail: { priorities: ['now', 'later'] } }, []));
    await app.get<Queue>(getQueueToken('mail')).enqueue('mail.sold', 1, { priority: 'now' });
    expect(await app.get(Queues).queue('mail').counts()).toMatchObject({ ready: 1 });
    expect(await new Queue(redis, 'mail', { prefix }).settings()).toMatchObject({
      priorities: ['now', 'later'],
    });
  });

  test('may stand in several modules; their names of tasks are put together', async () => {
    const registering = (...tasks: string[]): Imports => [
      QueuesModule.forRoot({ redis, prefix: freshPrefix(), workers: {} }),
      ...tasks.map((task) => {
        @Module({ imports: [QueuesModule.forFeature({ queues: { mail: { tasks: [task] } } })] })
        class Registering {}
        return Registering;
      }),
    ];
    const providers = [Seen, Mails];
    await expect(boot({ imports: registering(...TASKS), providers })).resolves.toBeDefined();
    await expect(boot({ imports: registering('mail.sold'), providers })).rejects.toThrow(
      'QueuesModule: Mails.expired handles "mail.expired", which queue "mail" does not have',
    );
    await expect(boot({ imports: registering(...TASKS, 'mail.lost'), providers })).rejects.toThrow(
      'queue "mail" has no handler for "mail.lost"',
    );
  });

  test('schemas name the tasks, and are used on both sides', async () => {
    const reports: string[] = [];
    const schemas = { 'mail.sold': z.object({ itemId: z.string(), price: z.number().default(7) }) };
    @Injectable()
    class Sales {
      @TaskHandler('mail.sold')
      sold(payload: z.output<(typeof schemas)['mail.sold']>): void {
        reports.push(`${payload.itemId} for ${payload.price}`);
      }
    }
    const selling = (...providers: Providers): ModuleMetadata =>
      moduleOf({}, { mail: { schemas } }, providers);
    await expect(boot(selling())).rejects.toThrow('queue "mail" has a worker, but no handler');
    const app = await boot(selling(Sales));
    const queue = app.get<Queue>(getQueueToken('mail'));
    await expect(queue.enqueue('mail.sold', { itemId: 42 })).rejects.toMatchObject({
      code: 'ERR_INVALID_PAYLOAD',
    });
    await queue.enqueue('mail.sold', { itemId: '42' });
    await until('the task', () => reports.length === 1);
    expect(reports).toEqual(['42 for 7']);
  });
});

describe('@TaskHandler', () => {
  test.each<[string, object, Type[], string]>([
    [
      'two handlers',
      {},
      [Mails, handling(['mail.sold'])],
      '"mail.sold" has two handlers, Mails.sold and Handling.handle',
    ],
    [
      'two handlers, one of a queue',
      { workers: false },
      [Mails, handling(['mail.sold', { queue: 'mail' }])],
      '"mail.sold" has two handlers, Mails.sold and Handling.handle',
    ],
    ['no handler', {}, [handling(['mail.sold'])], 'queue "mail" has no handler for "mail.expired"'],
    [
      'a name that no queue has',
      { workers: undefined },
      [handling(['mail.lost'])],
      'Handling.handle handles "mail.lost", which no queue has',
    ],
    [
      'a queue that is not registered',
      {},
      [Mails, handling(['mail.sold', { queue: 'post' }])],
      'Handling.handle is for queue "post", which forFeature does not name',
    ],
    [
      'options that cannot be used',
      {},
      [handling(['mail.sold', { timeoutMs: 0 }], ['mail.expired'])],
      'timeoutMs must be from 1',
    ],
  ])('lets the boot fail for %s', async (_what, root, providers, message) => {
    await expect(boot(mailModule(root, providers))).rejects.toThrow(message);
  });

  test('reports all mistakes at once', async () => {
    const booted = boot(mailModule({}, [handling(['mail.sold']), handling(['mail.sold'])]));
    await expect(booted).rejects.toThrow(
      new TypeError(
        'QueuesModule: "mail.sold" has two handlers, Handling.handle and Handling.handle; ' +
          'queue "mail" has no handler for "mail.expired"',
      ),
    );
  });

  test('refuses names that cannot be one, and static methods', () => {
    expect(() => TaskHandler('')).toThrow(RangeError);
    expect(() => TaskHandler(7 as never)).toThrow(TypeError);
    class Static {
      static handle(): void {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Static, 'handle')!;
    expect(() => TaskHandler('a')(Static, 'handle', descriptor)).toThrow('Static.handle is static');
  });

  test('passes options on, works twice on one method, and on objects of factories', async () => {
    const attempts: string[] = [];
    class Flaky {
      @TaskHandler('mail.sold', { backoff: { type: 'fixed', delayMs: 1 } })
      @TaskHandler('mail.expired', { timeoutMs: 5 })
      async run(_: unknown, { name, attempt, signal }: TaskContext): Promise<void> {
        if (attempt === 2) return;
        attempts.push(name);
        if (name === 'mail.sold') throw new Error('not yet');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
    }
    const app = await boot(mailModule({}, [{ provide: 'flaky', useFactory: () => new Flaky() } as never]));
    const queue = app.get<Queue<Mail>>(getQueueToken('mail'));
    const sold = await queue.enqueue('mail.sold', { itemId: '1' });
    const expired = await queue.enqueue('mail.expired', { itemId: '2' }, { attempts: 1 });
    await until('success', async () => (await queue.get(sold.id))?.state === 'succeeded');
    await until('the timeout', async () => (await queue.get(expired.id))?.state === 'dead');
    expect(attempts.toSorted()).toEqual(['mail.expired', 'mail.sold']);
  });

  test('takes many tasks in one call', async () => {
    const sizes: number[] = [];
    @Injectable()
    class Batches {
      @TaskHandler('t', { batch: { maxSize: 10 } })
      async many(tasks: readonly { payload: number; ctx: TaskContext }[]): Promise<number[]> {
        sizes.push(tasks.length);
        return tasks.map(({ payload }) => 2 * payload);
      }
    }
    const prefix = freshPrefix();
    const queue = new Queue(redis, 'q', { prefix });
    const stored = await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
    await boot(moduleOf({ prefix }, { q: {} }, [Batches]));
    await until('the end', async () => (await queue.counts()).succeeded === 3);
    const results = await Promise.all(stored.map(async ({ id }) => (await queue.get(id))?.result));
    expect([sizes, results]).toEqual([[3], [2, 4, 6]]);
  });

  test('of one queue, it does not run tasks of that name in others', async () => {
    const seen: string[] = [];
    @Injectable()
    class Cleaner {
      @TaskHandler('clean', { queue: 'a' })
      a(): void {
        seen.push('a');
      }

      @TaskHandler('clean', { queue: 'b' })
      b(): void {
        seen.push('b');
      }

      @TaskHandler('other')
      other(): void {}
    }
    const errors: unknown[] = [];
    const workers = { onError: (error: unknown) => void errors.push(error) };
    const app = await boot(moduleOf({ workers }, { a: {}, b: {}, c: {} }, [Cleaner]));
    const third = app.get<Queue>(getQueueToken('c'));
    for (const name of ['a', 'b']) await app.get<Queue>(getQueueToken(name)).enqueue('clean', null);
    const { id } = await third.enqueue('clean', null);
    await until('the end', () => seen.length === 2 && errors.length === 1);
    expect(seen.toSorted()).toEqual(['a', 'b']);
    // It goes back for a worker that has its handler.
    expect(errors).toMatchObject([{ code: 'ERR_HANDLER_MISSING', queue: 'c' }]);
    await until('its return', async () => (await third.counts()).active === 0);
    expect(await third.get(id)).toMatchObject({
      attempt: 0,
      error: { code: 'ERR_HANDLER_MISSING' },
    });
    expect(await third.names()).toEqual(['other']);
    expect(await app.get<Queue>(getQueueToken('a')).names()).toEqual(['clean', 'other']);
  });

  test('of one of several queues, it has no options on a worker of all', async () => {
    const imports = (workers: object): Imports => [
      QueuesModule.forRoot({ redis, prefix: freshPrefix(), workers }),
      QueuesModule.forFeature({ queues: { a: {} } }),
      QueuesModule.forFeature({ queues: { b: {} } }),
    ];
    const providers = [handling(['t', { queue: 'a', timeoutMs: 5 }], ['t', { queue: 'b' }])];
    await expect(boot({ imports: imports({}), providers })).rejects.toThrow(
      '"t" of one of several queues is handled with options by Handling.handle and Handling.handle: ' +
        'give each of these queues a worker of its own',
    );
    const apart = [{ queues: ['a'] }, { queues: ['b'] }];
    await expect(boot({ imports: imports(apart), providers })).resolves.toBeDefined();
  });

  test('a provider of one request is made for each task, a transient one, too', async () => {
    const made: unknown[] = [];
    @Injectable({ scope: Scope.REQUEST })
    class PerTask {
      constructor(@Inject(REQUEST) private readonly context: TaskContext) {}

      @TaskHandler('mail.sold')
      sold(_: unknown, context: TaskContext): void {
        made.push(this, context === this.context);
      }
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @TaskHandler('mail.expired')
      expired(): void {
        made.push(this, true);
      }
    }
    const app = await boot(mailModule({}, [PerTask, Transient]));
    const queue = app.get<Queue<Mail>>(getQueueToken('mail'));
    for (const name of ['mail.sold', 'mail.sold', 'mail.expired', 'mail.expired'] as const) {
      await queue.enqueue(name, { itemId: '1' });
    }
    await until('all tasks', () => made.length === 8);
    expect(made.filter((value) => value === true)).toHaveLength(4);
    expect(new Set(made.filter((value) => typeof value === 'object')).size).toBe(4);
  });

  test('an alias is no second handler, an inherited method is one', async () => {
    @Injectable()
    class Better extends Mails {
      override expired(): void {}
    }
    const alias = { provide: 'alias', useExisting: Mails } as never;
    await expect(boot(mailModule({}, [Mails, alias]))).resolves.toBeDefined();
    await expect(boot(mailModule({}, [Mails, Better]))).rejects.toThrow(
      '"mail.sold" has two handlers, Mails.sold and Better.sold',
    );
  });
});

describe('the shutdown', () => {
  test('waits for running tasks before it closes their database', async () => {
    const [begun, end] = [gate(), gate()];
    const order: string[] = [];
    @Injectable()
    class Database implements OnApplicationShutdown {
      onApplicationShutdown(): void {
        order.push('database closed');
      }
    }
    @Injectable()
    class Slow {
      @TaskHandler('t')
      async run(): Promise<void> {
        begun.open();
        await end.passed;
        order.push('task done');
      }
    }
    const app = await boot(moduleOf({}, { q: {} }, [Slow, Database]));
    const queue = app.get<Queue>(getQueueToken('q'));
    const { id } = await queue.enqueue('t', null);
    await begun.passed;
    const closed = app.close().then(() => order.push('closed'));
    // Long enough for a worker that does not wait.
    for (let pings = 0; pings < 100; pings += 1) await redis.ping();
    end.open();
    await closed;
    expect(order).toEqual(['task done', 'database closed', 'closed']);
    expect(await queue.get(id)).toMatchObject({ state: 'succeeded' });
  });

  test('gives back unfinished tasks after graceMs', async () => {
    const begun = gate();
    @Injectable()
    class Endless {
      @TaskHandler('t')
      async run(): Promise<void> {
        begun.open();
        await new Promise(() => undefined);
      }
    }
    const app = await boot(moduleOf({ graceMs: 20 }, { q: {} }, [Endless]));
    const queue = app.get<Queue>(getQueueToken('q'));
    const { id } = await queue.enqueue('t', null);
    await begun.passed;
    await app.close();
    expect(await queue.get(id)).toMatchObject({ state: 'ready', attempt: 0 });
  });
});

test('the Logger of NestJS gets errors outside of handlers', async () => {
  const logged: unknown[] = [];
  const app = await boot(mailModule({}));
  Logger.overrideLogger({ log() {}, warn() {}, error: (...args: unknown[]) => void logged.push(args) });
  try {
    await app.get<Queue>(getQueueToken('mail')).enqueue('mail.lost', null);
    await until('the report', () => logged.length > 0);
  } finally {
    Logger.overrideLogger(false);
  }
  expect(logged).toEqual([
    [expect.objectContaining({ code: 'ERR_HANDLER_MISSING' }), undefined, 'QueuesModule'],
  ]);
});

test('the end of the application stops its claims', async () => {
  const prefix = freshPrefix();
  const app = await boot({
    imports: [QueuesModule.forRoot({ redis, prefix }), QueuesModule.forFeature({ claims: { mail: {} } })],
  });
  await new Queue(redis, 'mail', { prefix }).enqueue('mail.sold', 1, { id: 'a' });
  const claims = app.get<Claims>(getClaimsToken('mail'));
  expect(await claims.claim()).toMatchObject([{ id: 'a', name: 'mail.sold' }]);
  const waiting = claims.claim({ waitMs: 30_000 });
  await until('the wait', () => claims.waiting === 1);
  await app.close();
  expect(await waiting).toEqual([]);
});

describe('one application with two connections', () => {
  @Injectable()
  class Archive {
    constructor(
      private readonly seen: Seen,
      @InjectQueue('mail') readonly mail: Queue,
      @InjectQueue('mail', 'reports') readonly reports: Queue,
    ) {}

    @TaskHandler('send', { module: 'reports' })
    ofReports(payload: string): void {
      this.seen.push(`report ${payload}`);
    }

    @TaskHandler('archive')
    ofAny(payload: string): void {
      this.seen.push(`archived ${payload}`);
    }
  }

  @Injectable()
  class Letters {
    constructor(private readonly seen: Seen) {}

    @TaskHandler('send', { module: 'default' })
    letter(payload: string): void {
      this.seen.push(`letter ${payload}`);
    }
  }

  const tasks = ['send', 'archive'];
  const prefixes = { default: freshPrefix(), reports: freshPrefix() };
  const both = (): Imports => [
    QueuesModule.forRoot({ redis, prefix: prefixes.default, workers: {} }),
    QueuesModule.forRootAsync({
      name: 'reports',
      useFactory: () => ({ redis, prefix: prefixes.reports, workers: { concurrency: 2 } }),
    }),
    QueuesModule.forFeature({ queues: { mail: { tasks } } }),
    QueuesModule.forFeature({ queues: { mail: { tasks } } }, 'reports'),
  ];

  test('have queues of the same name, and a handler is for one or for all of them', async () => {
    const app = await boot({ imports: both(), providers: [Seen, Archive, Letters] });
    const { mail, reports } = app.get(Archive);
    expect(app.get(getQueueToken('mail', 'reports'))).toBe(reports);
    await mail.enqueue('send', 'a');
    await reports.enqueue('send', 'b');
    for (const queue of [mail, reports]) await queue.enqueue('archive', 'c');
    await until('all tasks', () => app.get(Seen).length === 4);
    expect(app.get(Seen).toSorted()).toEqual(['archived c', 'archived c', 'letter a', 'report b']);
    for (const prefix of Object.values(prefixes)) {
      const seen = new Queue(redis, 'mail', { prefix });
      await until('the ends', async () => (await seen.counts()).succeeded === 2);
    }
  });

  test('neither has to do with the queues of the other', async () => {
    @Injectable()
    class Invoices {
      @TaskHandler('bill', { queue: 'invoices', module: 'default' })
      bill(): void {}
    }
    const imports = [...both(), QueuesModule.forFeature({ queues: { invoices: { tasks: ['bill'] } } })];
    const app = await boot({ imports, providers: [Seen, Archive, Letters, Invoices] });
    await app.get(Archive).reports.enqueue('archive', 'r');
    await until('the task', () => app.get(Seen).length === 1);
    const stray = new Queue(redis, 'invoices', { prefix: prefixes.reports });
    await stray.enqueue('bill', 1);
    await app.get(Archive).reports.enqueue('archive', 's');
    await until('the next task', () => app.get(Seen).length === 2);
    expect(await stray.counts()).toMatchObject({ ready: 1 });
  });

  test.each<[string, Providers, string]>([
    ['a queue of one has no handler', [], 'QueuesModule: queue "mail" has no handler for "send"'],
    [
      'one handler is for both, and one for the same name of one of them',
      [Letters, handling(['archive', { module: 'reports' }])],
      '"archive" has two handlers, Archive.ofAny and Handling.handle',
    ],
    [
      'a handler is for one that no queue is registered with',
      [Letters, handling(['send', { module: 'other' }])],
      'Handling.handle handles "send", which no queue of module "other" has',
    ],
  ])('lets the boot fail when %s', async (_, providers, message) => {
    await expect(boot({ imports: both(), providers: [Seen, Archive, ...providers] })).rejects.toThrow(
      message,
    );
  });
});
