import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getQueueToken, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

class Mails {
  @TaskHandler('welcome')
  async welcome({ to }: { to: string }, { attempt }: { attempt: number }): Promise<string> {
    if (attempt === 1) throw new Error('the mail server is busy');
    return `mail to ${to}, attempt ${attempt}`;
  }
}

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const queues = QueuesModule.forRoot({ url, workers: {}, feature: { queues: { mails: {} } } });

@Module({ imports: [queues], providers: [Mails] })
class AppModule {}

test('a mail that fails is sent again', async (t) => {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  t.after(() => app.close()); // drains the worker
  const mails = app.get(getQueueToken('mails'));
  // A task at nine on each weekday. Storing the same schedule again changes nothing.
  await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff@example.com' });
  const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
  assert.equal(await mails.result(id), 'mail to ann@example.com, attempt 2');
});
