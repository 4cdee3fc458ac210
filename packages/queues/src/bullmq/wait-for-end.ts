/** `job.waitUntilFinished`: the events of the queue tell of the end; one look at the start finds an end before them. */
import type { JobLike } from './host.js';

/** `QueueEvents` for a job. */
export interface EventsLike {
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  on(event: string, listener: (...args: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  removeListener(event: string, listener: (...args: any[]) => void): unknown;
  waitUntilReady(): Promise<void>;
}

export async function waitForEnd(
  job: JobLike,
  events: EventsLike,
  ttl: number | undefined,
): Promise<unknown> {
  const { queue, id, name } = job;
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      events.removeListener(`completed:${id}`, onCompleted);
      events.removeListener(`failed:${id}`, onFailed);
      queue.removeListener('closing', onClosing);
    };
    const fail = (reason: string): void => {
      stop();
      reject(new Error(reason));
    };
    const onCompleted = ({ returnvalue }: { returnvalue: unknown }): void => {
      stop();
      resolve(returnvalue);
    };
    const onFailed = ({ failedReason }: { failedReason: string }): void => fail(failedReason);
    const onClosing = (reason: unknown): void => fail(String(reason));
    const timer =
      ttl === undefined
        ? undefined
        : setTimeout(() => {
            fail(
              `Job wait ${name} timed out before finishing, no finish notification arrived after ${ttl}ms (id=${id})`,
            );
          }, ttl);
    events.on(`completed:${id}`, onCompleted);
    events.on(`failed:${id}`, onFailed);
    queue.on('closing', onClosing);
    void look();
    async function look(): Promise<void> {
      await events.waitUntilReady();
      const stored = await queue.store.get(id!);
      if (!stored) fail(`Missing key for job ${queue.qualifiedName}:${id}. isFinished`);
      else if (stored.state === 'completed') {
        onCompleted({ returnvalue: stored.returnvalue ? JSON.parse(stored.returnvalue) : null });
      } else if (stored.state === 'failed') fail(stored.details.fr ?? '');
    }
  });
}
