import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { Schedule, Scheduled, ScheduledTaskOptions, ScheduleRule } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';

interface Mail {
  'mail.sold': { itemId: string; price: number };
  'mail.expired': { itemId: string };
}

const redis = connect();

test('the payload of a schedule belongs to the name of its task', async () => {
  const queue = new Queue<Mail>(redis, 'mail', { prefix: freshPrefix() });
  const every: ScheduleRule = { everyMs: 60_000, startAt: new Date(0), maxRuns: 3 };
  const options: ScheduledTaskOptions = { priority: 'high', attempts: 2, headers: { a: 'b' }, group: 'g' };
  const scheduled: Scheduled = await queue.schedule('a', every, 'mail.expired', { itemId: '42' }, options);
  const listed: Schedule[] = await queue.schedules();
  expect([scheduled.isChanged, listed.length]).toEqual([true, 1]);

  // @ts-expect-error -- the payload of another task
  await queue.schedule('b', every, 'mail.sold', { itemId: '42' });
  // @ts-expect-error -- no such task
  await queue.schedule('c', every, 'mail.lost', { itemId: '42' });
  // @ts-expect-error -- both at once
  const both: ScheduleRule = { everyMs: 60_000, cron: '* * * * *' };
  // @ts-expect-error -- a time zone without a cron
  const zone: ScheduleRule = { everyMs: 60_000, timezone: 'UTC' };
  // @ts-expect-error -- no such policy
  const some: ScheduleRule = { cron: '* * * * *', missed: 'some' };
  // @ts-expect-error -- the id follows from the key and the instant
  const id: ScheduledTaskOptions = { id: 'x' };
  for (const rule of [both, zone, some]) {
    await expect(queue.schedule('d', rule, 'mail.expired', { itemId: '' })).rejects.toThrow(/schedule "d"/);
  }
  await expect(queue.schedule('d', every, 'mail.expired', { itemId: '' }, id)).rejects.toThrow(
    /schedule has no option "id"; there are priority,/,
  );
});
