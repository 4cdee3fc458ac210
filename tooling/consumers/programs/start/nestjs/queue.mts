import { getQueueToken, QueuesModule } from '@mortise/queues/nestjs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Mails } from './mails.mjs';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

@Module({
  imports: [QueuesModule.forRoot({ url, workers: {}, feature: { queues: { mails: {} } } })],
  providers: [Mails],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const mails = app.get(getQueueToken('mails'));
const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
console.log(await mails.result(id)); // its first attempt fails, the second one succeeds

// A task at nine on each weekday. Storing the same schedule again changes nothing.
await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff@example.com' });
await app.close(); // drains the worker

// Output:
// mail to ann@example.com, attempt 2
