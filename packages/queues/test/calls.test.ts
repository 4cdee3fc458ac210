/** Every public call: on a closed client, and with wrong arguments. */
import { Claims, Overviews, Queue, Worker } from '@mortise/queues';
import type { CallTable } from '@mortise/test-kit';
import { describeCalls, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

const LEASE = '0-1';

function tableOf(redis: Redis): CallTable {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  const claims = new Claims(redis, 'q', { prefix, onError: () => undefined });
  const overviews = new Overviews(redis, { prefix });
  return {
    'queue.enqueue': [queue.enqueue.bind(queue), 't', {}, {}],
    'queue.enqueueMany': [queue.enqueueMany.bind(queue), [{ name: 't', payload: 1 }]],
    'queue.enqueueFlow': [queue.enqueueFlow.bind(queue), { name: 't', payload: 1, children: [] }],
    'queue.get': [queue.get.bind(queue), 'a'],
    'queue.children': [queue.children.bind(queue), 'a'],
    'queue.summary': [queue.summary.bind(queue), 'a'],
    'queue.counts': [queue.counts.bind(queue)],
    'queue.cancel': [queue.cancel.bind(queue), 'a'],
    'queue.remove': [queue.remove.bind(queue), 'a'],
    'queue.retry': [queue.retry.bind(queue), 'a'],
    'queue.promote': [queue.promote.bind(queue), 'a'],
    'queue.reschedule': [queue.reschedule.bind(queue), 'a', { delayMs: 1 }],
    'queue.deliver': [queue.deliver.bind(queue), 'a', 'event', 1, { id: 'd' }],
    'queue.setPayload': [queue.setPayload.bind(queue), 'a', 1],
    'queue.setPriority': [queue.setPriority.bind(queue), 'a', 'medium'],
    'queue.lastEvents': [queue.lastEvents.bind(queue), {}],
    'queue.retryAll': [queue.retryAll.bind(queue), {}],
    'queue.drain': [queue.drain.bind(queue), {}],
    'queue.clean': [queue.clean.bind(queue), 'dead', {}],
    'queue.list': [queue.list.bind(queue), 'dead', {}],
    'queue.summaries': [queue.summaries.bind(queue), 'dead', {}],
    'queue.names': [queue.names.bind(queue)],
    'queue.settings': [queue.settings.bind(queue)],
    'queue.pause': [queue.pause.bind(queue)],
    'queue.reshard': [queue.reshard.bind(queue), 2],
    'queue.resume': [queue.resume.bind(queue)],
    'queue.configure': [queue.configure.bind(queue), {}],
    'queue.schedule': [queue.schedule.bind(queue), 's', { everyMs: 60_000 }, 't', {}, {}],
    'queue.schedules': [queue.schedules.bind(queue)],
    'queue.unschedule': [queue.unschedule.bind(queue), 's'],
    'queue.result': [queue.result.bind(queue), 'a', { waitMs: 10 }],
    'queue.idle': [queue.idle.bind(queue), { waitMs: 10 }],
    'queue.events': [queue.events.bind(queue), { signal: AbortSignal.timeout(500) }],
    'queue.eventsCursor': [queue.eventsCursor.bind(queue)],
    'queue.obliterate': [queue.obliterate.bind(queue), {}],
    'Queue.exists': [Queue.exists.bind(Queue), redis, 'q', { prefix }],
    'Queue.names': [Queue.names.bind(Queue), redis, { prefix }],
    'overviews.read': [overviews.read.bind(overviews), ['q']],
    'Queue.pauseAll': [Queue.pauseAll.bind(Queue), redis, { prefix }],
    'Queue.resumeAll': [Queue.resumeAll.bind(Queue), redis, { prefix }],
    'claims.claim': [claims.claim.bind(claims), { waitMs: 0 }],
    'claims.complete': [claims.complete.bind(claims), 'a', LEASE, 1],
    'claims.fail': [claims.fail.bind(claims), 'a', LEASE, { error: 'x' }],
    'claims.giveBack': [claims.giveBack.bind(claims), 'a', LEASE, {}],
    'claims.heartbeat': [claims.heartbeat.bind(claims), 'a', LEASE, 1_000],
    'claims.progress': [claims.progress.bind(claims), 'a', LEASE, 1],
    'claims.log': [claims.log.bind(claims), 'a', LEASE, 'line'],
    'claims.steps': [claims.steps.bind(claims), 'a', LEASE],
    'claims.storeStep': [claims.storeStep.bind(claims), 'a', LEASE, 'step', 1],
    'claims.setCursor': [claims.setCursor.bind(claims), 'a', LEASE, 1],
    'claims.waitFor': [claims.waitFor.bind(claims), 'a', LEASE, { step: 's', event: 'e', timeoutMs: 1 }],
  };
}

function constructors(redis: Redis): CallTable {
  const prefix = freshPrefix();
  return {
    Queue: [
      (...args: ConstructorParameters<typeof Queue>) => void new Queue(...args),
      redis,
      'q',
      { prefix },
    ],
    Overviews: [
      (...args: ConstructorParameters<typeof Overviews>) => void new Overviews(...args),
      redis,
      { prefix },
    ],
    Claims: [
      (...args: ConstructorParameters<typeof Claims>) => void new Claims(...args),
      redis,
      'q',
      { prefix },
    ],
    Worker: [
      (...args: ConstructorParameters<typeof Worker>) => void new Worker(...args),
      redis,
      ['q'],
      { t: () => 1 },
      { prefix },
    ],
  };
}

/** A telemetry may have no method; a payload is any JSON, and an error any thrown value. */
function takes(option: string, value: unknown): boolean {
  if (option.endsWith(' telemetry')) return typeof value === 'object' && !Array.isArray(value);
  if (option === 'queue.enqueueFlow payload')
    return value === -1 || (typeof value === 'object' && !Array.isArray(value));
  return option === 'claims.fail error';
}

describeCalls({
  tableOf,
  constructors,
  classes: { queue: Queue, claims: Claims },
  silent: ['claims.stop', 'queue.close'],
  takes,
  coalesced: 'queue.enqueue',
});
