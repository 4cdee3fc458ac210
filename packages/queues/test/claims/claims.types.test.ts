import { expect, test } from '@jest/globals';
import { Claims } from '@mortise/queues';
import type { ClaimedTask } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';

interface Mail {
  'mail.sold': { itemId: string };
  'mail.expired': { days: number };
}

const claims = new Claims<Mail>(connect(), 'q', { prefix: freshPrefix() });

/** The payload follows from the name. */
function describeTask(task: ClaimedTask<Mail>): string {
  if (task.name === 'mail.sold') {
    // @ts-expect-error -- that is the payload of the other one
    void task.payload.days;
    return task.payload.itemId;
  }
  const days: number = task.payload.days;
  return String(days);
}

test('types', async () => {
  const tasks: ClaimedTask<Mail>[] = await claims.claim({ limit: 1 });
  expect(tasks.map(describeTask)).toEqual([]);
  // @ts-expect-error -- no such option
  await expect(claims.claim({ names: [] })).rejects.toThrow('claim has no option "names"');
  // @ts-expect-error -- a failure has a reason
  await expect(claims.fail('a', '0-1', {})).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  // @ts-expect-error -- a claim has no handlers
  expect(() => new Claims(connect(), 'q', { concurrency: 5 })).toThrow('Claims has no option "concurrency"');
  await claims.stop();
});
