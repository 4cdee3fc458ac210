import { expect, test } from '@jest/globals';
import { afterMicrotasks } from '../src/index.js';

test('runs after the promise callbacks that are due and those that they cause, before timers and I/O', async () => {
  const order: string[] = [];
  const chain = async (depth: number): Promise<void> => {
    for (let turn = 0; turn < depth; turn += 1) await Promise.resolve();
    order.push(`promise ${depth}`);
  };
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      setImmediate(() => {
        order.push('immediate');
        resolve();
      });
      afterMicrotasks(() => order.push('callback'));
      process.nextTick(() => order.push('tick'));
      void chain(1);
      void chain(20);
    });
  });
  expect(order).toEqual(['tick', 'promise 1', 'promise 20', 'callback', 'immediate']);
});
