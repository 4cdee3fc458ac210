/** One application with several connections: each has queues, workers and handlers of its own. */
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { getQueueToken, InjectQueue, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { boot } from '@mortise/test-kit/nestjs';
import type { ModuleMetadata } from '@nestjs/common';
import { Injectable } from '@nestjs/common';

const redis = connect();

/** A log of the handlers of these tests. */
class Seen extends Array<string> {}

@Injectable()
class Mails {
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
const roots = (): NonNullable<ModuleMetadata['imports']> => [
  QueuesModule.forRoot({ redis, prefix: prefixes.default, workers: {} }),
  QueuesModule.forRootAsync({
    name: 'reports',
    useFactory: () => ({ redis, prefix: prefixes.reports, workers: { concurrency: 2 } }),
  }),
];
const registered = (): NonNullable<ModuleMetadata['imports']> => [
  QueuesModule.forFeature({ queues: { mail: { tasks } } }),
  QueuesModule.forFeature({ queues: { mail: { tasks } } }, 'reports'),
];

describe('two connections', () => {
  test('have queues of the same name, and a handler is for one or for all of them', async () => {
    const app = await boot({ imports: [...roots(), ...registered()], providers: [Seen, Mails, Letters] });
    const { mail, reports } = app.get(Mails);
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
    const imports = [
      ...roots(),
      ...registered(),
      QueuesModule.forFeature({ queues: { invoices: { tasks: ['bill'] } } }),
    ];
    const app = await boot({ imports, providers: [Seen, Mails, Letters, Invoices] });
    await app.get(Mails).reports.enqueue('archive', 'r');
    await until('the task', () => app.get(Seen).length === 1);
    const stray = new Queue(redis, 'invoices', { prefix: prefixes.reports });
    await stray.enqueue('bill', 1);
    await app.get(Mails).reports.enqueue('archive', 's');
    await until('the next task', () => app.get(Seen).length === 2);
    expect(await stray.counts()).toMatchObject({ ready: 1 });
  });

  test('each has to have the handlers of its queues', async () => {
    const imports = [...roots(), ...registered()];
    await expect(boot({ imports, providers: [Seen, Mails] })).rejects.toThrow(
      'QueuesModule: queue "mail" has no handler for "send"',
    );
  });

  test('a handler for both and one for the same name of one of them are two', async () => {
    @Injectable()
    class Second {
      @TaskHandler('archive', { module: 'reports' })
      again(): void {}
    }
    const imports = [...roots(), ...registered()];
    await expect(boot({ imports, providers: [Seen, Mails, Letters, Second] })).rejects.toThrow(
      '"archive" has two handlers, Mails.ofAny and Second.again',
    );
  });

  test('a handler for one that no queue is registered with', async () => {
    @Injectable()
    class Lost {
      @TaskHandler('send', { module: 'other' })
      send(): void {}
    }
    const imports = [...roots(), ...registered()];
    await expect(boot({ imports, providers: [Seen, Mails, Letters, Lost] })).rejects.toThrow(
      'Lost.send handles "send", which no queue of module "other" has',
    );
  });
});
