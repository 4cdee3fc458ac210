import { getQueueToken, QueuesModule } from '@mortise/queues/nestjs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Mails } from './mails.js';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

@Module({
  imports: [
    QueuesModule.forRoot({ url, prefix: 'start-nestjs', workers: { concurrency: 10 } }),
    QueuesModule.forFeature({ queues: { mails: { tasks: ['welcome'] } } }),
  ],
  providers: [Mails],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const mails = app.get(getQueueToken('mails'));
const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
console.log(await mails.result(id)); // its first attempt fails, the second one succeeds

await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff@example.com' });
console.log('schedules', (await mails.schedules()).length);
await app.close(); // drains the worker

// Output:
// mail to ann@example.com, attempt 2
// schedules 1
